"""A write whose policy is not published yet is answered as pending; no write waits for a dead agent."""

import os
import signal
import time
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest

from gatewall.database.sqlite.base import QUEUE_SUFFIX
from gatewall.install.ports import free_port
from gatewall.kernel.file_io import try_lock_file
from tests.support.processes import agent, control_plane, data_plane, prepare, wait_until
from tests.support.servers import CLIENT, OFFICE, Admin, Verdict, about, ask, tell

BOUND_SECONDS = 1.0


class Slow(NamedTuple):
    """A site whose agent is stopped or dead."""

    admin: Admin
    control: int
    auth: int
    publisher: Any
    locks: tuple[Path, Path]
    """The locks of every writer of the database and of every publication."""


@pytest.fixture
def hampered(tmp_path):
    """Return a site of its own, with an agent that tests stop."""
    control, auth = free_port(), free_port()
    prepare(tmp_path)
    one = control_plane(tmp_path, control, GATEWALL_WORKERS="1")
    with agent(tmp_path) as publisher, one, data_plane(tmp_path, auth):
        admin = Admin(control)
        admin.post("/authorized-domains", name=OFFICE)
        locks = (tmp_path / f"gatewall.sqlite3{QUEUE_SUFFIX}", tmp_path / "policy" / "lock")
        yield Slow(admin, control, auth, publisher, locks)


def is_enforced(site, client):
    question = about(client=client, Service_Authorization=site.admin.token)
    return {ask(site.auth, question) for _ in range(4)} == {Verdict(403, "client-blocked")}


def stop_agent(site):
    """Stop the agent outside of writes and publications: within one, it would block every other writer."""

    def is_stopped():
        os.kill(site.publisher.pid, signal.SIGSTOP)
        wait_until(lambda: psutil.Process(site.publisher.pid).status() == psutil.STATUS_STOPPED, what="the stop")
        locks = [try_lock_file(path) for path in site.locks]
        for lock in filter(None, locks):
            os.close(lock)
        if None in locks:
            os.kill(site.publisher.pid, signal.SIGCONT)
            return False
        return True

    wait_until(is_stopped, what="a moment in which the agent writes nothing")


def is_published(site):
    """Make a change; return whether it is in force when it is answered."""
    return "policy_pending" not in site.admin.post("/system/reload")


def test_write_is_answered_as_pending_when_the_agent_does_not_publish(hampered, pytestconfig):
    entry = hampered.admin.post("/ip-black-list", ip="203.0.113.1")
    took, answers = [], []
    for write in (
        lambda: hampered.admin.post("/ip-black-list", ip="203.0.113.2"),
        lambda: hampered.admin.put(f"/ip-black-list/{entry['id']}", remark="changed"),
        lambda: hampered.admin.put("/system/settings", waf_threshold=6),
        lambda: hampered.admin.post("/licenses", name="farm"),
        lambda: hampered.admin.post("/system/reload"),
    ):
        wait_until(lambda: is_published(hampered), what="the agent to publish")  # then it renews its lease
        stop_agent(hampered)
        began = time.monotonic()
        answers.append(write())
        took.append(time.monotonic() - began)
        os.kill(hampered.publisher.pid, signal.SIGCONT)

    tell(pytestconfig, f"writes with a stopped agent answered after {', '.join(f'{each:.2f}' for each in took)} s")
    assert [answer.get("policy_pending") for answer in answers] == [True] * 5
    assert min(took) < 2.5
    assert max(took) < 2.0 + 4.0  # 2 s of waiting, and a busy machine
    wait_until(lambda: is_enforced(hampered, "203.0.113.2"), what="the agent to publish when it goes on")


def test_writer_publishes_when_the_lease_of_a_stopped_agent_has_ended(hampered):
    stop_agent(hampered)

    wait_until(lambda: is_published(hampered), what="the end of the lease")
    answer = hampered.admin.post("/ip-black-list", ip="203.0.113.2")

    assert "policy_pending" not in answer
    assert is_enforced(hampered, "203.0.113.2")
    os.kill(hampered.publisher.pid, signal.SIGCONT)


def test_control_plane_applies_a_change_at_once_when_the_agent_does_not_publish(hampered):
    question = about(client=CLIENT, Service_Authorization=hampered.admin.token)
    stop_agent(hampered)

    hampered.admin.post("/ip-black-list", ip=CLIENT)

    assert [ask(hampered.control, question).status for _ in range(8)] == [403] * 8
    os.kill(hampered.publisher.pid, signal.SIGCONT)


def test_writer_publishes_when_the_agent_is_dead(hampered):
    hampered.publisher.kill()
    hampered.publisher.wait()

    for last in (3, 4, 5):  # a machine that stalls for a second does so once, not each time
        client = f"203.0.113.{last}"

        answer = hampered.admin.post("/ip-black-list", ip=client)

        assert "policy_pending" not in answer
        written_at = time.monotonic()
        wait_until(lambda client=client: is_enforced(hampered, client), what="the writer's own publication")
        if time.monotonic() - written_at < BOUND_SECONDS:
            return
    pytest.fail("three times in a row the data plane took more than a second")
