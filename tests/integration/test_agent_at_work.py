"""The agent saves turns of its threads and queries while it only stores the access log."""

import time
from datetime import timedelta
from threading import Thread

import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone

from audit.event_kinds import EventKind
from audit.models import AccessLog
from audit.spool.writer import SpoolWriter
from gatewall.agent.agent import Agent
from gatewall.agent.log_shipper import LogShipper
from gatewall.snapshot.host_paths import policy_files, run_folder
from tests.support.receiver import a_webhook
from tests.support.records import a_record

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif("connection.vendor != 'sqlite'", reason="PostgreSQL has no such counter"),
]


@pytest.fixture
def agent():
    """Return an agent after its first turns and the first pruning of its log."""
    files, run = policy_files(settings.CONFIG), run_folder(settings.CONFIG.home)
    agent = Agent(files, run, "here", LogShipper(settings.CONFIG.home / "spool"))
    agent._shipper.turn()
    for _ in range(3):
        agent.turn()
    yield agent
    agent._changes.close()


def store(agent, *records):
    """Let the agent's shipper store these records, in a thread of its own."""
    writer = SpoolWriter(settings.CONFIG.home / "spool", "node-1")
    for record in records:
        writer.write(record)
    writer.close()

    def ship():
        agent._shipper.turn()
        connection.close()

    thread = Thread(target=ship)
    thread.start()
    thread.join()
    assert agent._shipper.problem == ""


ALLOWED = {"outcome": "allow", "reason": "session-valid", "status": 200, "rules": []}


@pytest.mark.parametrize("parts", [ALLOWED, {}], ids=["allowed", "refused"])
def test_rows_of_the_log_wake_no_thread(agent, parts):
    agent._changes.look()

    store(agent, a_record(1, at=time.time(), **parts))

    assert AccessLog.objects.count() == 1
    assert not agent._changes.look()


def test_a_row_that_causes_a_notice_wakes_the_threads(agent):
    a_webhook(kinds=[EventKind.REQUEST_BLOCKED.value], least_severity="low")
    agent._changes.look()

    store(agent, a_record(1, at=time.time()))

    assert agent._changes.look()


def test_the_detectors_read_the_database_only_after_a_change(agent, django_assert_num_queries):
    watch = agent._shipper._detection
    now = timezone.now() + timedelta(minutes=1)
    with django_assert_num_queries(0):
        watch.turn(now, has_news=False)
    assert not watch.is_behind
    with django_assert_num_queries(2):
        watch.turn(now + timedelta(seconds=2), has_news=True)
    watch.turn(now + timedelta(seconds=2.5), has_news=True)
    assert watch.is_behind  # less than a second later: the next turn reads
    with django_assert_num_queries(2):
        watch.turn(now + timedelta(seconds=4), has_news=False)


def test_records_gather_for_a_while_but_not_longer_than_the_log_may_be_late(agent):
    shipper, rests = agent._shipper, []
    shipper._shorten(timezone.now())
    for seconds in (0.01, 0.1, 5.0):
        shipper._note_delay(seconds)
        rests.append(shipper._rest_seconds())
    assert rests == [pytest.approx(0.66), pytest.approx(0.3), shipper.every_seconds]

    for _ in range(100):
        shipper._note_delay(0.01)
    assert shipper._rest_seconds() == pytest.approx(0.66)

    shipper._tidied_at = None
    assert shipper._rest_seconds() == shipper.every_seconds


def test_a_turn_that_takes_long_shortens_the_next_pause(agent, monkeypatch):
    shipper = agent._shipper
    shipper._shorten(timezone.now())
    shipper._turned_at = time.monotonic() - 0.1
    waited = []
    monkeypatch.setattr(shipper._stop, "wait", waited.append)
    shipper._has_more = True

    shipper._pause()

    assert waited == [pytest.approx(0.3, abs=0.05)]
