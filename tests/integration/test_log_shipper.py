"""The shipping thread of the agent: its work, its reports, and that it survives errors."""

import logging
import time
from datetime import UTC, datetime, timedelta
from threading import Event

import pytest
import time_machine
from django.conf import settings
from django.db import OperationalError

from audit.models import AccessLog
from audit.spool.writer import SpoolWriter
from audit.storage import ingest, retention
from gatewall.agent import log_shipper
from gatewall.agent.agent import Agent
from gatewall.agent.log_shipper import LogShipper
from gatewall.models import Node
from gatewall.policy import system_settings
from gatewall.snapshot.host_paths import policy_files, run_folder
from gatewall.snapshot.notification import AgentLock
from tests.support.cast import NOW
from tests.support.processes import wait_until
from tests.support.records import a_record

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def spool(tmp_path):
    return tmp_path / "spool"


@pytest.fixture
def shipper(spool):
    return LogShipper(spool)


@pytest.fixture
def writer(spool):
    writer = SpoolWriter(spool, "node-1")
    yield writer
    writer.close()


def test_a_turn_ships_the_spool(shipper, writer):
    writer.write(a_record(1, at=time.time()))

    shipper.turn()

    assert AccessLog.objects.count() == 1
    assert shipper.problem == ""
    assert shipper.state().spooled_bytes == 0


def test_before_the_first_turn_the_lag_is_unknown(shipper):
    assert shipper.state().lag_seconds is None


def test_a_database_failure_is_logged_once_and_its_end_once(shipper, writer, monkeypatch, caplog):
    writer.write(a_record(1, at=time.time()))
    with monkeypatch.context() as patch, caplog.at_level(logging.INFO):
        patch.setattr(ingest, "add_counts", lambda _: (_ for _ in ()).throw(OperationalError("gone")))
        for _ in range(3):
            shipper.turn()
        assert "OperationalError" in shipper.problem
        assert len(caplog.records) == 1
    with caplog.at_level(logging.INFO):
        shipper.turn()

    assert [record.message for record in caplog.records][1:] == ["agent: shipping again"]
    assert AccessLog.objects.count() == 1


def test_a_file_that_cannot_be_read_is_reported_and_blocks_no_other(shipper, spool, writer):
    (spool / "0.spool").mkdir(parents=True)
    writer.write(a_record(1, at=time.time()))

    shipper.turn()

    assert "IsADirectoryError" in shipper.problem
    assert AccessLog.objects.count() == 1


def test_rows_older_than_the_setting_are_deleted_within_the_hour(shipper, writer):
    system_settings.change(actor="alice", access_log_retention_days=2)
    with time_machine.travel(datetime.fromtimestamp(NOW, UTC), tick=False) as clock:
        for number, age in enumerate([timedelta(), timedelta(days=1), timedelta(days=3)]):
            writer.write(a_record(number, at=NOW - age.total_seconds()))
        shipper.turn()
        assert AccessLog.objects.count() == 2
        clock.shift(timedelta(days=1, seconds=1))
        shipper.turn()
        assert AccessLog.objects.count() == 1


def test_expired_rows_are_pruned_in_batches_and_then_once_an_hour(shipper, writer, monkeypatch):
    monkeypatch.setattr(log_shipper, "_PRUNED_AT_ONCE", 2)
    monkeypatch.setattr(retention, "_AT_ONCE", 2)
    left = []
    with time_machine.travel(datetime.fromtimestamp(NOW, UTC), tick=False) as clock:
        for number in range(5):
            writer.write(a_record(number, at=NOW - 40 * 86_400 + number, rules=[]))
        for minutes in (0, 0, 0, 1, 59):
            clock.shift(timedelta(minutes=minutes))
            shipper.turn()
            left.append(AccessLog.objects.count())
            if len(left) == 3:
                writer.write(a_record(9, at=NOW - 40 * 86_400, rules=[]))

    assert left == [3, 1, 0, 1, 0]


def test_rows_go_when_the_clock_was_set_back(shipper, writer):
    with time_machine.travel(datetime.fromtimestamp(NOW, UTC), tick=False) as clock:
        shipper.turn()
        clock.shift(-timedelta(days=1))
        writer.write(a_record(1, at=NOW - 40 * 86_400))
        shipper.turn()

    assert AccessLog.objects.count() == 0


@pytest.fixture
def batches(monkeypatch):
    """Make batches small; return a function that sets an action in the middle of the first batch."""
    monkeypatch.setattr(ingest, "BATCH_BYTES", 4096)
    add_counts, firsts = ingest.add_counts, []

    def add(counts):
        if firsts:
            firsts.pop()()
        add_counts(counts)

    monkeypatch.setattr(ingest, "add_counts", add)
    return firsts.append


def test_a_stop_waits_only_for_the_current_batch(shipper, writer, batches):
    began = Event()
    batches(lambda: (began.set(), shipper._stop.wait(timeout=10)))
    for number in range(100):
        writer.write(a_record(number, at=time.time()))

    with shipper.running():
        assert began.wait(timeout=10)

    assert 0 < AccessLog.objects.count() < 20


def test_the_state_during_a_long_pass_has_the_waiting_bytes(shipper, writer, spool, batches):
    states = []
    batches(lambda: states.append(shipper.state().spooled_bytes))
    for number in range(100):
        writer.write(a_record(number, at=time.time()))
    (path,) = spool.glob("*.spool")

    shipper.turn()

    assert states == [path.stat().st_size]
    assert shipper.state().spooled_bytes == 0


@pytest.fixture
def agent(shipper):
    run = run_folder(settings.CONFIG.home)
    with AgentLock(run).held():
        yield Agent(policy_files(settings.CONFIG), run, "here", shipper)


def test_the_agent_reports_the_lag_of_the_log(agent, shipper, writer):
    agent.turn()
    assert Node.objects.get().log_lag_seconds is None

    with time_machine.travel(datetime.now(UTC) + timedelta(seconds=2)):
        shipper.turn()
        agent.turn()

    assert 0 <= Node.objects.get().log_lag_seconds < 60


def test_the_agent_reports_that_the_log_is_not_shipped(agent, shipper, writer, monkeypatch):
    writer.write(a_record(1, at=time.time()))
    monkeypatch.setattr(ingest, "add_counts", lambda _: (_ for _ in ()).throw(OperationalError("gone")))
    shipper.turn()

    agent.turn()

    assert "access log is not shipped" in Node.objects.get().problem


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_bug_does_not_end_the_shipping(shipper, monkeypatch, caplog):
    passes = []
    monkeypatch.setattr(shipper, "_tidy", lambda _: None)
    monkeypatch.setattr(shipper._upkeep, "turn", lambda: None)
    monkeypatch.setattr(ingest, "ship", lambda *_: 1 / 0)

    with shipper.running():
        wait_until(lambda: not shipper._thread.is_alive(), what="the bug")
        monkeypatch.setattr(ingest, "ship", lambda *_: passes.append(1) or 0)
        shipper.keep_going()
        assert "a bug" in caplog.text
        wait_until(lambda: passes and not shipper.problem, what="the next pass")
