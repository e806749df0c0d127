"""The entrypoint of the image as a plain process: read-only root, no root user, one folder to write to."""

import os
import signal
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path

import psutil
import pytest

from gatewall.install.ports import free_port
from tests.deploy.image import image, patterns_after_keys
from tests.deploy.jail import USER
from tests.support.children import is_alive
from tests.support.processes import request, wait_until
from tests.support.servers import BLOCKED, OFFICE, Admin, Verdict, about, ask

SHARED = "/dev/shm"  # noqa: S108
ELSEWHERE = ("/tmp", SHARED, "/var/tmp")  # noqa: S108 - that nobody writes there is what is tested
ROLES = ("agent", "data-plane", "control-plane")
ENDS_WITHIN_SECONDS = 15
"""Docker's default stop timeout is 10 seconds; the Compose file and the chart set 15 or more."""


@pytest.fixture(scope="module")
def ours():
    """Return the image after `keys` and `migrate`."""
    with image() as made:
        for role in ("keys", "migrate"):
            run = made.run(role)
            assert (run.returncode, run.stderr) == (0, ""), run.stdout
        made.put_patterns()
        yield made


@pytest.fixture(scope="module")
def planes(ours):
    """Run all roles of the image, each as a process."""
    with ExitStack() as stack:
        yield {role: stack.enter_context(ours.up(role)) for role in ROLES}


def test_a_role_may_be_named_by_the_environment(ours):
    assert ours.run(GATEWALL_ROLE="keys").returncode == 0
    refused = ours.run(GATEWALL_ROLE="everything")
    assert (refused.returncode, refused.stderr.partition(":")[0]) == (2, "usage")
    for short, role in {"control": "control-plane", "data": "data-plane"}.items():
        asked = ours.run(GATEWALL_ROLE=short, GATEWALL_WORKERS="none")
        assert (asked.returncode, asked.stderr) == (2, ours.run(role, GATEWALL_WORKERS="none").stderr)
        assert "GATEWALL_WORKERS" in asked.stderr


def ended(process):
    """Return the exit code of a process after SIGTERM."""
    process.send_signal(signal.SIGTERM)
    return process.wait(ENDS_WITHIN_SECONDS)


@pytest.mark.parametrize("place", ["opt/gatewall/x", "x"])
def test_only_the_state_may_be_written_to(ours, place):
    outside = ours.state.parent / place

    assert ours.call(ours.inside("touch", str(outside)), {"PATH": os.environ["PATH"]}).returncode != 0
    assert not outside.exists()
    for elsewhere in ELSEWHERE:
        probe = ours.inside("touch", f"{elsewhere}/gatewall-{os.getpid()}")
        assert "Read-only" in ours.call(probe, {"PATH": os.environ["PATH"], "LC_ALL": "C"}).stderr


def test_both_planes_answer_and_a_change_reaches_the_data_plane(ours, planes):
    admin = Admin(ours.control)
    admin.post("/authorized-domains", name=OFFICE)
    admin.post("/ip-black-list", ip=BLOCKED)

    blocked = about(client=BLOCKED, Service_Authorization=admin.token)
    wait_until(lambda: ask(ours.auth, blocked) == Verdict(403, "client-blocked"), what="the data plane to know it")
    for port in (ours.auth, ours.control):
        assert ask(port, about()) == Verdict(401, "credential-missing")
        assert ask(port, about(Service_Authorization=admin.token)) == Verdict(200, "session-valid")
    assert ask(ours.control, blocked) == Verdict(403, "client-blocked")


def test_the_agent_ships_records_of_the_data_plane_and_sees_its_workers(ours, planes):
    admin = Admin(ours.control)
    ask(ours.auth, about(client="198.51.100.99"))

    wait_until(lambda: admin.get("/access-logs?client_ip=198.51.100.99")["results"], what="the record of the answer")
    (node,) = admin.post("/system/reload")["nodes"]

    assert len(node["workers"]) == 2


def test_no_process_is_root_or_may_become_it(planes):
    for process in planes.values():
        for each in (psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)):
            lines = Path(f"/proc/{each.pid}/status").read_text().splitlines()
            status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)

            assert each.uids().real == (USER if os.geteuid() == 0 else os.getuid())
            assert int(status["CapEff"], 16) == int(status["CapPrm"], 16) == 0
            assert status["NoNewPrivs"] == "1"


@pytest.mark.parametrize("role", ROLES)
def test_a_role_that_does_not_run_is_not_healthy(ours, planes, role):
    other = ours.state / "elsewhere"
    run = ours.run("health", role, GATEWALL_PORT="1", GATEWALL_AUTH_PORT="2", GATEWALL_HOME=str(other), **secrets(ours))

    assert (run.returncode, run.stderr) == (1, f"not ready: {role}\n")


def secrets(ours):
    files = {"GATEWALL_SECRET_KEY": "secret-key", "GATEWALL_JWT_KEYS": "jwt-keys", "GATEWALL_DATA_KEYS": "data-keys"}
    return {f"{name}_FILE": str(ours.state / "secrets" / file) for name, file in files.items()}


@pytest.mark.parametrize("url", ["", "sqlite:////var/lib/gatewall/state/one.sqlite3"])
def test_a_database_local_to_each_pod_is_refused(ours, url):
    changes = {"DATABASE_URL": url} if url else {}
    run = ours.run("migrate", "--several-hosts", **changes)

    assert (run.returncode, run.stdout) == (2, "")
    assert "DATABASE_URL" in run.stderr
    assert run.stderr.count("\n") == 1


def test_a_database_that_hosts_can_share_passes_the_check(ours):
    run = ours.run("migrate", "--several-hosts", DATABASE_URL="postgresql://gatewall:secret@127.0.0.1:1/gatewall")

    assert run.returncode == 2
    assert "the database cannot be used" in run.stderr
    assert "secret" not in run.stderr


@pytest.mark.parametrize(
    "arguments", [("nonsense",), ("migrate", "nonsense"), ("health", "nonsense"), ("health", "agent", "data-plane")]
)
def test_an_unknown_role_is_refused(ours, arguments):
    assert ours.run(*arguments).returncode == 2


def test_a_bad_environment_is_one_line_and_code_2(ours):
    run = ours.run("health", GATEWALL_WORKERS="none")

    assert (run.returncode, run.stdout) == (2, "")
    assert "GATEWALL_WORKERS" in run.stderr
    assert run.stderr.count("\n") == 1


def test_the_commands_of_an_installation_can_be_run(ours):
    run = ours.run("manage", "check")

    assert run.returncode == 0, run.stderr


def test_a_database_of_a_newer_release_is_a_one_line_warning(ours):
    later = ("audit", "9999_later")
    with closing(sqlite3.connect(ours.state / "gatewall.sqlite3")) as database, database:
        database.execute("INSERT INTO django_migrations (app, name, applied) VALUES (?, ?, '2026-01-01')", later)
    run = ours.run("migrate")
    with closing(sqlite3.connect(ours.state / "gatewall.sqlite3")) as database, database:
        database.execute("DELETE FROM django_migrations WHERE app = ? AND name = ?", later)

    assert run.returncode == 0, run.stderr
    assert run.stderr.startswith(
        "The database is of a newer release (audit.9999_later): only the release directly before"
    )
    assert run.stderr.count("\n") == 1


@pytest.mark.parametrize("role", ["all", "keys", "data-plane"])
def test_a_volume_that_cannot_be_written_is_one_line_and_code_2(role):
    with image() as made:
        if os.geteuid() == 0:
            os.chown(made.state, 0, 0)
        made.state.chmod(0o555)

        run = made.run(role)

    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith(
        f"gatewall: user {USER if os.geteuid() == 0 else os.getuid()} cannot write to {made.state}:"
    )
    assert run.stderr.count("\n") == 1


@pytest.mark.parametrize("role", ROLES)
def test_sigterm_ends_a_role_in_time_with_code_0(ours, role, planes):
    changes = {"GATEWALL_PORT": str(free_port()), "GATEWALL_AUTH_PORT": str(free_port()), "GATEWALL_WORKERS": "1"}
    if role == "agent":  # a host has one leading agent
        database = f"sqlite:///{ours.state / 'gatewall.sqlite3'}"
        changes |= {"GATEWALL_HOME": str(ours.state / "second"), "DATABASE_URL": database, **secrets(ours)}

    with ours.up(role, **changes) as process:
        assert ended(process) == 0


def test_one_container_alone_makes_its_keys_migrates_answers_and_ends_in_time():
    # The supervisor of `all` has a queue in shared memory, which container engines give to a read-only root too.
    with image(memory=SHARED) as alone, patterns_after_keys(alone.state), alone.up("all") as process:
        assert ask(alone.auth, about(host="localhost")) == Verdict(401, "credential-missing")
        assert Admin(alone.control).token
        assert request(alone.control, "/wall/health/ready", {"Host": "10.1.2.3:9999"}).status == 200
        family = psutil.Process(process.pid).children(recursive=True)

        assert ended(process) == 0
        wait_until(lambda: not any(is_alive(each) for each in family), ENDS_WITHIN_SECONDS, "the end of all processes")


def test_the_console_command_of_the_image_runs_in_its_environment(ours):
    command = ours.inside(str(ours.place / "deploy/docker/gatewall"), "check")

    run = ours.call(command, ours.environment())

    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("System check identified no issues")
