"""On SQLite, writers take turns in order of arrival, and readers never wait."""

import sqlite3
import threading
from contextlib import closing
from unittest.mock import Mock

import pytest
from django.db import DatabaseError, OperationalError, connection, transaction

from audit.models import UseCount
from gatewall.database.sqlite.base import QueuedConnection
from gatewall.database.sqlite.write_queue import WriteQueue

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif("connection.vendor != 'sqlite'", reason="PostgreSQL locks rows"),
]


def count_once(kind):
    """Write in a transaction."""
    with transaction.atomic():
        write(kind)


def write(kind):
    """Write in a statement of its own, unless there is a transaction."""
    row, _ = UseCount.objects.filter(kind=kind).values_list("pk", "count").first() or (None, 0)
    if row is None:
        UseCount(kind=kind, row_id=1, count=1, last_at="2026-01-01 00:00:00+00:00").save(force_insert=True)
    else:
        UseCount.objects.filter(pk=row).update(kind=kind)


@pytest.fixture
def beside():
    """Return a function that runs work in a thread with a connection of its own; all have ended after the test."""
    threads = []

    def run(work):
        def whole():
            try:
                work()
            finally:
                connection.close()

        threads.append(threading.Thread(target=whole))
        threads[-1].start()
        return threads[-1]

    yield run
    for thread in threads:
        thread.join()


@pytest.fixture
def impatient(monkeypatch):
    """Make this thread wait for the lock only for a moment."""
    connection.ensure_connection()
    monkeypatch.setattr(connection.connection, "patience", 0.05)


@pytest.mark.parametrize("work", [count_once, write], ids=["transaction", "statement"])
def test_a_writer_that_comes_back_at_once_does_not_keep_another_out(beside, work):
    """Without a queue, the other one polls, and nearly always finds the lock taken again."""
    holding, asking, done = threading.Event(), threading.Event(), threading.Event()
    overtook = []

    def greedy():
        while not done.is_set():
            with transaction.atomic():
                write("greedy")
                overtook.append(asking.is_set())
                holding.set()
                done.wait(0.02)

    def patient():
        holding.wait()
        for number in range(10):
            asking.set()
            work(f"patient {number}")
            asking.clear()
        done.set()

    beside(greedy)
    beside(patient).join()

    assert sum(overtook) <= 3 * 10  # each time: the one that held the lock, and one that came before the first look


@pytest.fixture
def held(beside):
    """Hold an uncommitted write of another connection until the end of the test."""
    holding, done = threading.Event(), threading.Event()

    def hold():
        with transaction.atomic():
            write("held")
            holding.set()
            done.wait()

    thread = beside(hold)
    holding.wait()
    yield
    done.set()
    thread.join()


@pytest.mark.parametrize("work", [count_once, write], ids=["transaction", "statement"])
def test_a_writer_that_waits_too_long_gets_the_locked_error_of_sqlite(held, impatient, work):
    with pytest.raises(OperationalError, match="database is locked"):
        work("late")


def test_readers_do_not_wait_for_a_writer(held, impatient):
    assert not UseCount.objects.filter(kind="held").exists()


def rolled_back():
    with transaction.atomic():
        write("gone")
        transaction.set_rollback(True)


def refused():
    with pytest.raises(DatabaseError), connection.cursor() as cursor:
        cursor.execute("INSERT INTO nowhere VALUES (1)")


def refused_in_a_transaction():
    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("INSERT INTO nowhere VALUES (1)")


def closed_within():
    transaction.set_autocommit(False)
    write("gone")
    connection.close()


def by_hand():
    with connection.cursor() as cursor:
        cursor.execute("BEGIN IMMEDIATE")
        cursor.execute("COMMIT")


@pytest.mark.parametrize(
    "work", [rolled_back, refused, refused_in_a_transaction, closed_within, by_hand, lambda: count_once("one")]
)
def test_a_writer_releases_the_lock_however_it_ends(beside, work):
    errors = []

    def other():
        connection.ensure_connection()
        connection.connection.patience = 0.0
        try:
            count_once("other")
        except OperationalError as error:
            errors.append(error)

    work()
    beside(other).join()

    assert errors == []


def test_a_thread_that_ends_within_a_transaction_releases_the_lock(beside):
    def forgetful():
        with connection.cursor() as cursor:
            cursor.execute("BEGIN IMMEDIATE")

    beside(forgetful).join()

    count_once("next")
    assert UseCount.objects.filter(kind="next").exists()


WRITING = ["INSERT", "REPLACE", "UPDATE", "DELETE", "CREATE", "ALTER", "DROP", "REINDEX", "ANALYZE", "VACUUM"]
READING = ["SELECT 1", "BEGIN DEFERRED", "COMMIT", "PRAGMA wal_checkpoint(PASSIVE)", "PRAGMA page_count"]
WRITING += ["BEGIN IMMEDIATE", "begin exclusive", "\n  update x", "PRAGMA wal_checkpoint(TRUNCATE)"]


@pytest.mark.parametrize(
    ("statement", "waits"), [*((each, True) for each in WRITING), *((each, False) for each in READING)]
)
def test_only_statements_that_write_wait_for_the_lock(statement, waits):
    asked = []
    with closing(sqlite3.connect(":memory:", factory=QueuedConnection)) as own:
        own.queue = Mock(enter=lambda seconds: asked.append(seconds) or True)
        own.before(statement)

    assert asked == [0.0] * waits


def test_a_queue_that_cannot_be_used_is_an_error_of_the_database(tmp_path, monkeypatch):
    """Code that handles an unavailable database handles this too: the agent goes on, the API answers 503."""
    connection.ensure_connection()
    monkeypatch.setattr(connection.connection, "queue", WriteQueue(tmp_path))  # a folder

    with pytest.raises(OperationalError, match=str(tmp_path)):
        count_once("nobody")
    assert not UseCount.objects.exists()
