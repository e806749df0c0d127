"""The agent skips work while the database does not change, and misses no change."""

import time
from contextlib import suppress
from threading import Event, Thread

import pytest
from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from audit.models import AccessLog
from audit.spool.writer import SpoolWriter
from gatewall.agent.agent import Agent
from gatewall.agent.log_shipper import LogShipper
from gatewall.agent.loop import Loop
from gatewall.agent.mail_sender import MailSender
from gatewall.agent.refusal_watch import RefusalWatches
from gatewall.agent.webhook_sender import WebhookSender
from gatewall.database.sqlite.changes import LONGEST_SECONDS, DatabaseChanges, count_this_change
from gatewall.models import Node
from gatewall.policy import revisions
from gatewall.snapshot.host_paths import policy_files, run_folder
from tests.support.processes import wait_until
from tests.support.records import a_record
from webhooks.models import Mail, MailKind

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif("connection.vendor != 'sqlite'", reason="PostgreSQL has no such counter"),
]


def write_elsewhere():
    def write():
        Node.objects.update_or_create(name="elsewhere", defaults={"seen_at": timezone.now(), "revision": 1})
        connection.close()

    thread = Thread(target=write)
    thread.start()
    thread.join()


def test_a_commit_of_another_connection_is_a_change_once():
    changes = DatabaseChanges()
    assert changes.look()
    assert not changes.look()

    write_elsewhere()

    assert [changes.look(), changes.look()] == [True, False]
    connection.close()  # another connection has a counter of its own
    assert [changes.look(), changes.look()] == [True, False]


def write_uncounted(changes, name, *, counts=False):
    def write():
        with changes.uncounted(), transaction.atomic():
            Node.objects.create(name=name, seen_at=timezone.now(), revision=1)
            if counts:
                count_this_change()
        connection.close()

    thread = Thread(target=write)
    thread.start()
    thread.join()


def test_an_uncounted_commit_of_another_thread_is_a_change_only_if_it_asks_for_it():
    changes = DatabaseChanges()
    changes.look()

    write_uncounted(changes, "a")
    assert not changes.look()

    write_uncounted(changes, "b", counts=True)
    assert [changes.look(), changes.look()] == [True, False]

    write_uncounted(changes, "c")
    assert not changes.look()


@pytest.mark.parametrize("is_later", [False, True])
def test_a_commit_beside_an_uncounted_transaction_is_a_change(is_later):
    changes = DatabaseChanges()
    changes.look()

    if is_later:
        write_uncounted(changes, "a")
    write_elsewhere()
    if not is_later:
        write_uncounted(changes, "a")

    assert [changes.look(), changes.look()] == [True, False]


def test_nothing_that_several_writers_commit_at_once_is_missed():
    changes = DatabaseChanges()
    changes.look()
    stop = Event()

    def write_log():
        number = 0
        while not stop.is_set():
            number += 1
            with changes.uncounted(), transaction.atomic():
                Node.objects.update_or_create(name="log", defaults={"seen_at": timezone.now(), "revision": number})
        connection.close()

    thread = Thread(target=write_log)
    thread.start()
    try:
        missed = []
        for _ in range(50):
            changes.look()
            write_elsewhere()
            missed.append(not changes.look())
    finally:
        stop.set()
        thread.join()
    assert missed == [False] * 50


def test_a_rolled_back_transaction_is_no_change():
    changes = DatabaseChanges()
    changes.look()

    with suppress(ZeroDivisionError), changes.uncounted(), transaction.atomic():
        Node.objects.create(name="a", seen_at=timezone.now(), revision=1)
        count_this_change()
        _ = 1 / 0

    assert not changes.look()


def test_writes_of_the_thread_itself_count_unless_they_are_uncounted():
    changes = DatabaseChanges()
    changes.look()
    with changes.uncounted():
        Node.objects.update_or_create(name="a", defaults={"seen_at": timezone.now(), "revision": 1})
    assert not changes.look()

    Node.objects.create(name="b", seen_at="2026-01-01T00:00:00Z", revision=1)

    assert [changes.look(), changes.look()] == [True, False]


def test_after_the_longest_wait_a_change_is_assumed_and_the_quiet_time_goes_on():
    now = [0.0]
    changes = DatabaseChanges(lambda: now[0])
    changes.look()
    now[0] = LONGEST_SECONDS - 0.1
    assert not changes.look()

    now[0] = LONGEST_SECONDS

    assert [changes.look(), changes.look(), changes.quiet_seconds()] == [True, False, LONGEST_SECONDS]


def test_a_database_without_the_counter_may_always_have_changed(monkeypatch):
    monkeypatch.setattr(connection, "vendor", "postgresql")
    changes = DatabaseChanges()

    assert [changes.look(), changes.look(), changes.quiet_seconds()] == [True, True, 0.0]


def test_an_agent_reads_the_version_and_wakes_its_threads_only_after_a_change(monkeypatch):
    monkeypatch.setattr("gatewall.agent.agent._NICENESS", 0)
    files, run = policy_files(settings.CONFIG), run_folder(settings.CONFIG.home)
    agent = Agent(files, run, "here", LogShipper(settings.CONFIG.home / "spool"))
    for _ in range(3):
        agent.turn()
    read, current = [], revisions.current
    monkeypatch.setattr(revisions, "current", lambda: read.append(1) or current())
    for loop in agent._loops:
        loop._news.clear()

    confirmed = files.confirmations.last()
    agent.turn()
    assert (read, [loop._news.is_set() for loop in agent._loops]) == ([], [False] * len(agent._loops))
    assert files.confirmations.last() > confirmed

    write_elsewhere()
    agent.turn()
    assert (read, [loop._news.is_set() for loop in agent._loops]) == ([1], [True] * len(agent._loops))


class Idle(Loop):
    """A thread without work unless it is woken."""

    name, every_seconds, failing, recovered = "idle", 0.0, "", ""

    def __init__(self):
        super().__init__()
        self.turns = 0
        self.is_idle = Event()
        self.is_idle.set()

    def _work(self):
        self.turns += 1

    def _is_idle(self):
        return self.is_idle.is_set()


def test_a_woken_idle_thread_takes_a_turn_only_if_it_has_work():
    loop, looks = Idle(), []
    is_idle = loop._is_idle
    loop._is_idle = lambda: looks.append(1) or is_idle()
    with loop.running():
        wait_until(lambda: len(looks) == 1, what="an idle thread")
        loop.wake()
        wait_until(lambda: len(looks) == 2, what="another look")
        assert loop.turns == 1

        loop.is_idle.clear()
        loop.wake()

        wait_until(lambda: loop.turns > 1, what="a turn")


def test_an_idle_thread_waits_until_it_is_woken_and_a_busy_one_does_not():
    loop = Idle()
    with loop.running():
        wait_until(lambda: loop.turns == 1, what="the first turn")
        loop.is_idle.clear()
        loop.wake()
        wait_until(lambda: loop.turns > 100, what="many turns")
    assert not loop._thread.is_alive()


def test_threads_with_scheduled_work_are_not_idle(settings):
    settings.GATEWALL_MAIL_SERVER = object()
    mails, webhooks, watches = MailSender(), WebhookSender(), RefusalWatches()
    assert [loop._is_idle() for loop in (mails, webhooks, watches)] == [True, True, True]

    Mail.objects.create(kind=MailKind.INVITATION, at=timezone.now(), next_at=timezone.now())

    assert not mails._is_idle()


def test_an_idle_host_stores_a_record_at_once_and_reports_no_lag(tmp_path):
    spool = tmp_path / "spool"
    writer, shipper = SpoolWriter(spool, "node-1"), LogShipper(spool)
    assert writer.is_usable()
    writer.sync_regularly()
    with shipper.running():
        wait_until(lambda: shipper._turned_at > 0 and not shipper._has_more, what="an idle shipper")
        turned_at, lag = shipper._turned_at, shipper.state().lag_seconds
        shipper._news.clear()
        time.sleep(2 * shipper.every_seconds)
        assert shipper._turned_at == turned_at
        assert lag < LONGEST_SECONDS

        writer.write(a_record(1, at=time.time()))

        wait_until(lambda: AccessLog.objects.count() == 1, what="the row")
    writer.close()


def test_a_resting_writer_syncs_the_next_record(tmp_path, monkeypatch):
    monkeypatch.setattr("audit.spool.writer._REST_SECONDS", 60.0)
    writer = SpoolWriter(tmp_path / "spool", "node-1")
    writer.sync_regularly()
    wait_until(lambda: writer._rests, what="a writer at rest")

    writer.write(a_record(1))

    wait_until(lambda: not writer._unsynced, what="the sync")
    writer.close()
