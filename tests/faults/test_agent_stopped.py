"""An agent stopped by SIGSTOP loses its lease; when it resumes, no policy is older and no row is duplicated."""

import signal
import sqlite3
import sys
import threading
import time
import uuid
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from gatewall.database.sqlite.base import QUEUE_SUFFIX
from gatewall.database.sqlite.write_queue import WriteQueue
from gatewall.install.ports import free_port
from gatewall.snapshot.host_paths import policy_files, run_folder
from gatewall.snapshot.notification import AgentLock
from tests.support.locks import leads
from tests.support.processes import agent, configuration, control_plane, data_plane, request, wait_until
from tests.support.servers import CLIENT, Verdict, about, ask, tell

BLOCKED = Verdict(403, "client-blocked")


@pytest.fixture
def host(copied):
    """Return the installation of a host with both planes, the port of its data plane, and its leading agent."""
    installation, control, auth = copied(), free_port(), free_port()
    home = installation.home
    with control_plane(home, control, GATEWALL_WORKERS="1"), data_plane(home, auth), agent(home) as first:
        yield installation, auth, first
        with suppress(ProcessLookupError):
            first.send_signal(signal.SIGCONT)
        sys.stderr.write((home / "agent.log").read_text(errors="replace")[-4000:])  # pytest shows it with a failure


def is_idle(installation):
    """Return whether no process is within a write or a publication, for which all others would wait."""
    queue = WriteQueue(Path(f"{installation.database}{QUEUE_SUFFIX}"))
    try:
        if not queue.enter(0):  # acquired before SQLite's own lock, and released after it
            return False
        with closing(sqlite3.connect(installation.database, timeout=0)) as database:
            database.execute("BEGIN IMMEDIATE")
        with policy_files(configuration(installation.home)).publishing(patience=0):
            return True
    except (sqlite3.OperationalError, OSError):
        return False
    finally:
        queue.close()


def stop(installation, process):
    """Stop the agent between two of its turns; it keeps its lock."""

    def caught():
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.05)
        if is_idle(installation):
            return True
        process.send_signal(signal.SIGCONT)
        return False

    wait_until(caught, what="a moment between two turns")


@contextmanager
def watched(installation):
    """Yield a list that gets each published revision, in order."""
    files, seen, stop = policy_files(configuration(installation.home)), [], threading.Event()

    def watch():
        while not stop.wait(0.005):
            revision = files.manifest().version.revision
            if seen[-1:] != [revision]:
                seen.append(revision)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield seen
    finally:
        stop.set()
        thread.join()


def answered(auth, question, times=20):
    """Return the decision ids of several answers."""
    return {request(auth, "/wall/auth", question).header("X-Gatewall-Decision-Id") for _ in range(times)}


def rows(installation):
    with closing(sqlite3.connect(f"file:{installation.database}?mode=ro", uri=True)) as database:
        return [str(uuid.UUID(id_)) for (id_,) in database.execute("SELECT decision_id FROM audit_accesslog")]


@pytest.mark.full  # the next test also publishes changes of another host while this agent is stopped
def test_a_change_of_another_host_is_in_force_while_the_agent_is_stopped(host, elsewhere, pytestconfig):
    installation, auth, first = host
    question = about(client=CLIENT, Service_Authorization=installation.token)
    stop(installation, first)
    lock = AgentLock(run_folder(installation.home))
    wait_until(lambda: not lock.is_led(), what="a lease that is over")
    assert leads(installation.home, first.pid)  # it still has its lock

    elsewhere(installation, CLIENT)

    wait_until(lambda: {ask(auth, question) for _ in range(8)} == {BLOCKED}, what="the change")
    tell(pytestconfig, "what another host changed is in force on one whose agent is stopped")


def test_a_second_agent_takes_over_and_the_resumed_first_one_gives_up_its_lock(host, elsewhere):
    installation, auth, first = host
    question = about(client=CLIENT, Service_Authorization=installation.token)
    with watched(installation) as revisions, agent(installation.home, second=True) as second:
        answers = answered(auth, question)
        stop(installation, first)
        wait_until(lambda: leads(installation.home, second.pid), what="the second agent")
        answers |= answered(auth, question)
        wait_until(lambda: answers <= set(rows(installation)), what="rows of what was answered meanwhile")
        for last in range(3):
            elsewhere(installation, f"203.0.113.{last}")
            answers |= answered(auth, question)

        first.send_signal(signal.SIGCONT)

        wait_until(lambda: not leads_by_any_file(first.pid), what="the first one to give up its lock")
        answers |= answered(auth, question)
        elsewhere(installation, CLIENT)
        wait_until(lambda: {ask(auth, question) for _ in range(8)} == {BLOCKED}, what="the last change")
        wait_until(lambda: answers <= set(rows(installation)), what="rows of all answers")

        assert leads(installation.home, second.pid)
        assert (first.poll(), second.poll()) == (None, None)
    assert revisions == sorted(revisions)
    found = rows(installation)
    assert len(found) == len(set(found))


def leads_by_any_file(process):
    """Return whether the process has an ``agent.lock`` open, even a replaced one."""
    names = []
    for descriptor in Path(f"/proc/{process}/fd").iterdir():
        with suppress(OSError):
            names.append(descriptor.readlink().name)
    return any(name.startswith("agent.lock") for name in names)
