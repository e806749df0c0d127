"""On SQLite, the files stay bounded: the WAL is truncated under load, and free pages are returned."""

import sqlite3
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.models import UseCount
from gatewall.database.sqlite import upkeep
from gatewall.database.sqlite.upkeep import Upkeep

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif("connection.vendor != 'sqlite'", reason="PostgreSQL does all this itself"),
]


def pragma(name):
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA {name}")
        return cursor.fetchone()[0]


def log_bytes():
    return Path(f"{connection.settings_dict['NAME']}-wal").stat().st_size


def fill(rows=2_000):
    UseCount.objects.bulk_create(
        UseCount(kind="x" * 60, row_id=number, count=1, last_at="2026-01-01 00:00:00+00:00") for number in range(rows)
    )


@pytest.fixture
def short_log(monkeypatch):
    """Make the WAL be truncated above a small size, and retried at once."""
    monkeypatch.setattr(upkeep, "LONGEST_WAL_BYTES", 100_000)
    monkeypatch.setattr(upkeep, "_AGAIN_SECONDS", 0.0)


@pytest.fixture
def reader():
    """Return a connection that reads an old snapshot until it is closed."""
    connection.ensure_connection()
    with closing(sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM audit_usecount").fetchall()
        yield reader


def test_a_long_wal_is_truncated(short_log):
    fill()
    assert log_bytes() > 100_000

    Upkeep().turn()

    assert log_bytes() == 0
    assert UseCount.objects.count() == 2_000


def test_a_short_wal_is_not_truncated():
    pragma("wal_checkpoint(TRUNCATE)")  # earlier tests of this process may have written much
    fill()

    with CaptureQueriesContext(connection) as queries:
        Upkeep().turn()

    assert log_bytes() > 100_000
    assert not any("TRUNCATE" in query["sql"] for query in queries)


def test_a_wal_blocked_by_a_reader_is_truncated_later(short_log, reader):
    fill()
    patience, keeping = pragma("busy_timeout"), Upkeep()

    keeping.turn()
    assert log_bytes() > 0
    assert pragma("busy_timeout") == patience
    reader.execute("COMMIT")
    keeping.turn()

    assert log_bytes() == 0


def test_a_truncation_blocked_by_a_reader_is_retried_after_a_pause(short_log, reader, monkeypatch):
    monkeypatch.setattr(upkeep, "_AGAIN_SECONDS", 3600.0)
    fill()
    keeping = Upkeep()
    with CaptureQueriesContext(connection) as queries:
        for _ in range(3):
            keeping.turn()

    assert sum("TRUNCATE" in query["sql"] for query in queries) == 1


@pytest.fixture
def few_free(monkeypatch):
    monkeypatch.setattr(upkeep, "_KEPT_FREE", 10)
    monkeypatch.setattr(upkeep, "_FREED_AT_ONCE", 20)


def test_free_pages_are_returned_in_batches_until_a_tenth_is_free(few_free):
    fill(20_000)
    UseCount.objects.all().delete()
    keeping, left = Upkeep(), [pragma("freelist_count")]
    while left[-1] > max(10, pragma("page_count") // 10):
        keeping.turn()
        left.append(pragma("freelist_count"))
    keeping.turn()

    assert {before - after for before, after in pairwise(left)} == {20}
    assert pragma("freelist_count") == left[-1] > 0


@pytest.fixture
def older():
    """Make the database one of an earlier release, without auto_vacuum; restore it afterwards."""

    def rewrite(mode):
        with connection.cursor() as cursor:
            cursor.execute(f"PRAGMA auto_vacuum={mode}")
            cursor.execute("VACUUM")

    rewrite("NONE")
    yield
    rewrite("INCREMENTAL")


def test_an_earlier_database_keeps_its_free_pages_until_it_is_rewritten(few_free, older, capsys):
    fill(20_000)
    UseCount.objects.all().delete()
    before = pragma("page_count")
    Upkeep().turn()
    assert pragma("page_count") == before

    call_command("prune_logs", compact=True)

    assert pragma("auto_vacuum") == 2
    assert pragma("freelist_count") == 0
    assert "MB to" in capsys.readouterr().out
