"""Retention of the access log, and its daily tables."""

from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from audit.models import AccessLog, LogGap, SpanCount
from audit.spool.writer import SpoolWriter
from audit.storage import ingest, retention
from tests.support.records import a_record

pytestmark = pytest.mark.django_db(transaction=True)
NOON = datetime.now(UTC).replace(hour=12)


@pytest.fixture
def keep(tmp_path):
    """Return a function that stores records of these times."""

    def keep(*moments):
        writer = SpoolWriter(tmp_path / "spool", "node-1")
        for number, moment in enumerate(moments):
            writer.write(a_record(number, at=moment.timestamp()))
        writer.close()
        ingest.ship(tmp_path / "spool")

    return keep


def days_ago(*numbers):
    return [NOON - timedelta(days=number) for number in numbers]


def tables():
    """Return the tables with rows of the access log."""
    if connection.vendor != "postgresql":
        return ["audit_accesslog"]
    with connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT tableoid::regclass::text FROM audit_accesslog ORDER BY 1")
        return [name for (name,) in cursor.fetchall()]


def kept():
    return sorted(row.at for row in AccessLog.objects.all())


def test_rows_are_in_the_table_of_their_day(keep):
    keep(*days_ago(1, 0))

    names = [f"audit_accesslog_{day:%Y%m%d}" for day in days_ago(1, 0)]
    assert tables() == (names if connection.vendor == "postgresql" else ["audit_accesslog"])


def test_rows_of_a_wrong_clock_are_kept_and_pruned(keep):
    keep(datetime(1970, 1, 1, tzinfo=UTC), datetime(3000, 1, 1, tzinfo=UTC))
    assert AccessLog.objects.count() == 2

    retention.prune(NOON, days=30)

    assert [at.year for at in kept()] == [3000]


def test_whole_days_are_dropped_when_they_are_too_old(keep):
    keep(*days_ago(0, 1, 2))

    retention.prune(NOON + timedelta(days=29), days=30)

    assert kept() == days_ago(1, 0)
    assert len(tables()) == (2 if connection.vendor == "postgresql" else 1)


def test_counts_are_pruned_with_their_rows(keep):
    keep(*days_ago(0, 40))
    LogGap.objects.create(node="node-1", at=days_ago(40)[0], kind="dropped", count=1)

    retention.prune(NOON, days=30)

    assert SpanCount.objects.filter(kind="outcome", width=60).count() == 1
    assert not LogGap.objects.exists()


@pytest.mark.parametrize(("options", "left"), [({}, 2), ({"days": 5}, 1), ({"days": 3650}, 3)])
def test_prune_logs_deletes_old_rows(keep, capsys, options, left):
    keep(*days_ago(0, 10, 40))

    call_command("prune_logs", **options)

    assert AccessLog.objects.count() == left
    assert f"older than {options.get('days', 30)} days" in capsys.readouterr().out


@pytest.mark.parametrize("days", [0, -1, 3651])
def test_prune_logs_refuses_an_invalid_time(days):
    with pytest.raises(CommandError, match="--days is 1 to 3650"):
        call_command("prune_logs", days=days)
