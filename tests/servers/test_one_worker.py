"""`gatewall up` with one worker of each plane: each is a single process, and the control plane runs the agent."""

import signal
import sqlite3
import sys
from contextlib import closing, suppress

import psutil

from gatewall.install.ports import free_port
from tests.support.processes import (
    BROWSER,
    PATIENCE,
    environment,
    no_agent_leads,
    prepare,
    request,
    running,
    wait_until,
)

UP = [sys.executable, "manage.py", "up", "--no-demo"]


def stored(home):
    """Return how many answers are in the access log."""
    with closing(sqlite3.connect(home / "gatewall.sqlite3")) as database:
        return database.execute("SELECT count(*) FROM audit_accesslog").fetchone()[0]


def workers_of(process, configuration):
    """Return the workers of the plane with this configuration file."""
    found = []
    for each in process.children():
        with suppress(psutil.Error):  # the process has just been killed
            found += [each for word in each.cmdline() if word.endswith(configuration)]
    return found


def test_the_only_worker_runs_the_agent_and_another_one_takes_over_when_it_is_killed(tmp_path):
    prepare(tmp_path / "home")
    home, log = tmp_path / "home", tmp_path / "up.log"
    ports = {name: str(free_port()) for name in ("GATEWALL_PORT", "GATEWALL_AUTH_PORT")}
    asked = {**BROWSER, "X-Forwarded-Host": "localhost", "X-Forwarded-Uri": "/"}

    def ask():
        return request(int(ports["GATEWALL_AUTH_PORT"]), "/wall/auth", asked).status

    with running(UP, log=log, env=environment(home, **ports, GATEWALL_WORKERS="1")) as process:
        wait_until(lambda: "\nready" in log.read_text(), what="the line with ready")
        everything = psutil.Process(process.pid)
        # The process that printed the line ends after it.
        wait_until(lambda: len(everything.children(recursive=True)) == 2, what="the two workers alone")
        before = ask()
        wait_until(lambda: stored(home) == 1, what="the record in the database")

        (killed,) = workers_of(everything, "gunicorn.conf.py")
        killed.kill()
        meanwhile = ask()
        wait_until(
            lambda: killed.pid not in [each.pid for each in workers_of(everything, "gunicorn.conf.py")], what="it"
        )
        wait_until(lambda: not no_agent_leads(home), what="the next agent")
        wait_until(lambda: stored(home) == 2, what="the second record")

        last = ask()
        # An agent that ends leaves unshipped records to the next one.
        wait_until(lambda: stored(home) == 3, what="the third record")
        process.send_signal(signal.SIGTERM)
        code = process.wait(PATIENCE)

    assert (before, meanwhile, last, code) == (401, 401, 401, 0)
    assert "Traceback" not in log.read_text()
