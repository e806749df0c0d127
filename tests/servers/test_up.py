"""`gatewall up` as a person starts it: a real process with its own state folder and free ports."""

import re
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack

import psutil
import pytest

from gatewall.install.ports import free_port
from tests.support.children import is_alive
from tests.support.patterns import put_compiled
from tests.support.processes import (
    BASE,
    BROWSER,
    PASSWORD,
    PATIENCE,
    configuration,
    environment,
    manage,
    no_agent_leads,
    prepare,
    request,
    running,
    sign_in,
    wait_until,
)

UP = [sys.executable, "manage.py", "up"]
ONE_WORKER = {"GATEWALL_WORKERS": "1"}
"""For tests that do not depend on a second worker: each takes half a second of CPU to start."""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home")
    prepare(folder)
    return folder


@pytest.fixture
def ports():
    return {name: str(free_port()) for name in ("GATEWALL_PORT", "GATEWALL_AUTH_PORT", "GATEWALL_DEMO_PORT")}


@pytest.fixture
def _heard_hang_ups():
    """Let child processes handle SIGHUP even under nohup: ignored signals are inherited."""
    before = signal.signal(signal.SIGHUP, lambda *_: None)
    yield
    signal.signal(signal.SIGHUP, before)


def descendants(pid: int) -> list[psutil.Process]:
    """Return all descendants of `pid`; psutil recognizes them even if an id is reused."""
    return psutil.Process(pid).children(recursive=True)


def command_of(process):
    """Return the arguments of a process; empty if it has ended, like a check of nginx's configuration."""
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


def is_ready(process, log):
    assert process.poll() is None, log.read_text()
    lines = log.read_text().splitlines()
    return any(line == "ready" for line in lines)


@pytest.mark.usefixtures("_heard_hang_ups")
@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGTERM, marks=pytest.mark.smoke),
        *(pytest.param(number, marks=pytest.mark.full) for number in (signal.SIGINT, signal.SIGHUP)),
    ],
    ids=lambda number: number.name,
)
def test_up_serves_the_demo_and_a_signal_stops_all_of_it(home, ports, tmp_path, number):
    log, demo_port = tmp_path / "up.log", int(ports["GATEWALL_DEMO_PORT"])
    with running(UP, log=log, env=environment(home, **ports)) as process:
        wait_until(lambda: is_ready(process, log), what="the line with ready")
        cookie = sign_in(demo_port, back_to=f"http://127.0.0.1:{demo_port}/")
        page = request(demo_port, "/", {**BROWSER, "Cookie": cookie})
        without_cookie = request(demo_port, "/", BROWSER)
        health = request(int(ports["GATEWALL_AUTH_PORT"]), "/wall/health/ready")
        agent_leads = not no_agent_leads(home)
        children = descendants(process.pid)

        process.send_signal(number)
        code = process.wait(PATIENCE)

    assert code == 0, log.read_text()
    assert PASSWORD not in log.read_text()
    assert (page.status, health.status, without_cookie.status, agent_leads) == (200, 200, 302, True)
    assert ports["GATEWALL_AUTH_PORT"] in (home / "demo" / "site.conf").read_text()
    assert b"<dd>admin</dd>" in page.body
    assert cookie.encode() not in page.body
    assert children
    assert [child for child in children if is_alive(child)] == []


def test_the_first_start_prints_the_output_in_the_tutorial(ports, tmp_path):
    """Except for the log of the processes, and with the tutorial's ports, folder and password for those of the test."""
    log, home = tmp_path / "up.log", tmp_path / "var"
    env = environment(home, **ports)
    del env["GATEWALL_ADMIN_PASSWORD"]
    made = subprocess.run([*UP[:2], "keys"], cwd=BASE, env=env, capture_output=True, text=True, check=True)
    put_compiled(configuration(home))
    with running(UP, log=log, env=env) as process:
        wait_until(lambda: is_ready(process, log), what="the line with ready")
    password = (home / "secrets" / "admin-password").read_text().strip()

    own = [line for line in (made.stdout + log.read_text()).splitlines() if not re.match(r"[\d:]{8} \w+ +\| ", line)]
    printed = "\n".join(own).partition("\nready")[0].replace(str(home), "var").replace(password, "PASSWORD")
    for name, usual in {"GATEWALL_PORT": "9999", "GATEWALL_AUTH_PORT": "9998", "GATEWALL_DEMO_PORT": "8080"}.items():
        printed = printed.replace(f":{ports[name]}/", f":{usual}/")
    block = (BASE / "docs" / "tutorial.md").read_text().partition("```text\n")[2].partition("\nready\n```")[0]
    installed = block[: block.index("made ")].splitlines()

    assert printed == block.removeprefix("\n".join([*installed, ""]))
    script = (BASE / "bin" / "environment.sh").read_text()
    for line in installed:
        form = re.sub(r"\.venv|requirements[\w-]*\.txt", "*", line)
        assert form in re.sub(r"\$environment|\$1", "*", script)


def lone_workers(pid):
    children = [child for child in psutil.Process(pid).children() if is_alive(child)]
    return [child for child in children if "gatewall.server.lone" in command_of(child)]


def test_with_one_worker_each_plane_is_one_process_and_restarts_alone(home, ports, tmp_path):
    log, auth_port = tmp_path / "up.log", int(ports["GATEWALL_AUTH_PORT"])
    env = environment(home, **ports, GATEWALL_WORKERS="1", GATEWALL_DEMO="0")
    with running(UP, log=log, env=env) as process:
        wait_until(lambda: is_ready(process, log), what="the line with ready")
        control, auth = sorted(
            lone_workers(process.pid), key=lambda each: "gatewall.wsgi:application" not in command_of(each)
        )

        control.kill()
        meanwhile = request(auth_port, "/wall/health/ready").status
        auth.kill()
        afterwards = request(auth_port, "/wall/health/ready").status  # waits in the backlog for the next worker
        wait_until(lambda: request(int(ports["GATEWALL_PORT"]), "/wall/health/ready").status == 200, what="control")
        alive = lone_workers(process.pid)

    assert (meanwhile, afterwards, len(alive)) == (200, 200, 2)


COMMAND_OF = {"nginx": "nginx.conf", "auth": "data_plane.conf.py", "agent": "agent", "control": "gunicorn.conf.py"}


@pytest.mark.parametrize(
    "name", ["agent", *(pytest.param(name, marks=pytest.mark.full) for name in ("nginx", "auth", "control"))]
)
def test_child_that_dies_ends_everything_with_a_line_that_names_it(home, ports, tmp_path, name):
    log = tmp_path / "up.log"
    with running(UP, log=log, env=environment(home, **ports, GATEWALL_WORKERS="2")) as process:
        wait_until(lambda: is_ready(process, log), what="the line with ready")
        children = descendants(process.pid)
        masters = psutil.Process(process.pid).children()
        (master,) = [child for child in masters if any(word.endswith(COMMAND_OF[name]) for word in command_of(child))]

        master.kill()
        code = process.wait(PATIENCE)

    assert code == 1
    assert f"{name} ended" in log.read_text()
    assert [child for child in children if is_alive(child)] == []


def test_up_repairs_a_damaged_publication_and_logs_one_line(home, ports, tmp_path):
    log, env = tmp_path / "up.log", environment(home, **ports, **ONE_WORKER, GATEWALL_DEMO="0")
    manage(home, "publish_policy")
    for path in (home / "policy" / "segments").iterdir():
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)

    with running(UP, log=log, env=env) as process:
        wait_until(lambda: is_ready(process, log), what="the line with ready")

    assert len([line for line in log.read_text().splitlines() if "is written again from the database" in line]) == 1


def test_data_plane_answers_on_a_unix_socket_and_a_stop_waits_for_a_slow_request(home, ports, tmp_path):
    log, unix = tmp_path / "up.log", tmp_path / "auth.sock"
    env = environment(home, **ports, **ONE_WORKER, GATEWALL_AUTH_SOCKET=str(unix))
    with running(UP, log=log, env=env) as process, ExitStack() as stack:
        wait_until(lambda: is_ready(process, log), what="the line with ready")
        page = request(int(ports["GATEWALL_DEMO_PORT"]), "/", BROWSER)
        is_socket = unix.is_socket()
        slow = stack.enter_context(socket.create_connection(("127.0.0.1", int(ports["GATEWALL_PORT"]))))
        slow.sendall(b"POST /wall/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nusername=")

        process.send_signal(signal.SIGTERM)
        code = process.wait(PATIENCE)

    assert (page.status, is_socket) == (302, True)
    assert (code, "SIGKILL" in log.read_text()) == (0, False)


def test_taken_socket_ends_the_start_with_one_line_that_names_it(home, ports, tmp_path):
    unix = tmp_path / "auth.sock"
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(unix))
        other.listen()
        env = environment(home, **ports, GATEWALL_AUTH_SOCKET=str(unix))

        run = subprocess.run(UP, cwd=BASE, env=env, capture_output=True, text=True, timeout=PATIENCE, check=False)

    assert run.returncode == 2
    assert len(run.stderr.splitlines()) == 1
    assert "GATEWALL_AUTH_SOCKET" in run.stderr


@pytest.mark.parametrize(
    "variable",
    [
        *(pytest.param(each, marks=pytest.mark.full) for each in ("GATEWALL_PORT", "GATEWALL_AUTH_PORT")),
        "GATEWALL_DEMO_PORT",
    ],
)
def test_taken_port_ends_the_start_with_one_line_that_names_it(home, ports, variable):
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)  # as a server that shares its port
        other.bind(("127.0.0.1", int(ports[variable])))
        other.listen()

        run = subprocess.run(
            UP, cwd=BASE, env=environment(home, **ports), capture_output=True, text=True, timeout=PATIENCE, check=False
        )

    assert run.returncode == 2
    assert len(run.stderr.splitlines()) == 1
    assert ports[variable] in run.stderr
    assert variable in run.stderr
