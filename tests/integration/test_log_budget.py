"""The access log stays under its size limit: refused rows are folded first, then the oldest rows are deleted."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.figures import counters
from audit.models import AccessLog, AccessLogRule, SecurityEvent, SpanCount
from audit.spool.writer import SpoolWriter
from audit.storage import ingest, partitions, shortening
from audit.storage.shortening import EPISODE, Budget, LogSize, Meter
from gatewall.agent.log_shipper import LogShipper
from gatewall.policy import system_settings
from tests.support.records import a_record

pytestmark = pytest.mark.django_db(transaction=True)
NOW = datetime.now(UTC).replace(hour=12)  # rows that are minutes old belong to the same day
TINY = 1  # a limit that one row exceeds
ALLOWED = {"outcome": "allow", "reason": "session-valid", "status": 200, "rules": []}
RULE = {"id": 7, "name": "union", "action": "block"}


@pytest.fixture(autouse=True)
def _noon():
    with time_machine.travel(NOW):
        yield


@pytest.fixture
def keep(tmp_path):
    """Return a function that stores records of these ages in minutes: let in, or refused."""
    partitions.drop_before(partitions.day_of(NOW))  # first, a turn would drop an empty day of another test
    count = iter(range(10_000))

    def keep(*ages, refused=False, path="/"):
        writer = SpoolWriter(tmp_path / "spool", "node-1")
        parts = {"outcome": "deny", "reason": "waf-rule", "status": 403, "rules": [RULE]} if refused else ALLOWED
        for age in ages:
            at = (NOW - timedelta(minutes=age)).timestamp()
            writer.write(a_record(next(count), at=at, path=path, **parts))
        writer.close()
        ingest.ship(tmp_path / "spool")

    return keep


def left():
    """The outcome and age in minutes of each row, oldest first."""
    rows = AccessLog.objects.order_by("at").values_list("outcome", "at")
    return [(outcome, round((NOW - at).total_seconds() / 60)) for outcome, at in rows]


def test_a_log_under_its_limit_is_left_alone(keep):
    keep(100, 50)
    keep(70, refused=True)

    done = Budget().turn(NOW, 2**40)

    assert (done.folded, done.deleted, len(left())) == (0, 0, 3)
    assert counters.noted(counters.LOG_BYTES) > 0
    assert not SecurityEvent.objects.filter(kind="log.shortened").exists()


def test_refused_rows_are_folded_before_any_other_is_deleted(keep, monkeypatch):
    keep(100, 50)
    keep(70, 60, refused=True)
    monkeypatch.setattr(shortening, "_PORTIONS", 1)

    done = Budget().turn(NOW, TINY)

    assert (done.folded, done.deleted) == (2, 0)
    assert left() == [("allow", 100), ("allow", 50)]
    assert not AccessLogRule.objects.exists()


def test_the_oldest_refused_rows_go_first(keep, monkeypatch):
    keep(70, 60, 50, refused=True)
    monkeypatch.setattr(shortening, "_AT_ONCE", 1)

    Budget().turn(NOW, TINY)

    assert left() == [("deny", 50)]
    assert AccessLogRule.objects.count() == 1


def test_older_allowed_rows_are_not_scanned_for_refused_ones(keep):
    """With an index by time alone, each portion would read every row before the first refused one."""
    keep(300)
    keep(70, 60, refused=True)

    with CaptureQueriesContext(connection) as asked:
        assert len(shortening._oldest_refused(NOW)) == 2

    assert '"at" >= ' in asked[-1]["sql"]


def test_after_refused_rows_the_oldest_rows_of_any_kind_are_deleted(keep, monkeypatch):
    keep(100, 50)
    keep(1, refused=True)  # too recent to be folded
    monkeypatch.setattr(shortening, "_AT_ONCE", 1)
    monkeypatch.setattr(shortening, "_PORTIONS", 1)

    done = Budget().turn(NOW, TINY)

    assert (done.folded, done.deleted) == (0, 1)
    assert left() == [("allow", 50), ("deny", 1)]


def test_statistics_are_the_same_before_and_after(keep):
    keep(100, 50)
    keep(70, 60, refused=True)
    before = list(SpanCount.objects.order_by("pk").values())

    Budget().turn(NOW, TINY)

    assert left() == []
    assert list(SpanCount.objects.order_by("pk").values()) == before


def test_the_rows_deleted_in_a_turn_are_limited(keep, monkeypatch):
    keep(*range(20, 60))
    monkeypatch.setattr(shortening, "_AT_ONCE", 10)

    assert Budget().turn(NOW, TINY).deleted == 20


def test_pruning_over_the_limit_goes_on_down_to_the_low_water_mark(keep, monkeypatch):
    keep(*range(20, 60))
    monkeypatch.setattr(shortening, "_AT_ONCE", 1)
    sizes = iter([101, 101, 100, 99, 98, 95, 94, 94])  # measured before a turn, and after each portion
    monkeypatch.setattr(Meter, "measure", lambda _meter: LogSize(size := next(sizes), size))
    budget = Budget()

    assert [budget.turn(NOW, 100).deleted for _ in range(3)] == [2, 2, 0]
    assert list(sizes) == [94]


def test_deletions_in_quick_succession_are_one_event(keep):
    budget = Budget()
    keep(100)
    budget.turn(NOW, TINY)
    keep(90)
    budget.turn(NOW + timedelta(minutes=1), TINY)

    (event,) = SecurityEvent.objects.filter(kind="log.shortened")
    assert event.detail["max_bytes"] == TINY
    assert event.detail["used_bytes"] > TINY
    assert counters.totals()[counters.LOG_DELETED] == 2

    keep(80)
    budget.turn(NOW + EPISODE + timedelta(minutes=10), TINY)

    assert SecurityEvent.objects.filter(kind="log.shortened").count() == 2


def test_a_log_under_its_limit_is_measured_once_a_minute(keep, monkeypatch):
    times, looked = iter([0.0, 0.0, 59.0, 61.0, 61.0]), []
    measure = Meter.measure
    monkeypatch.setattr(Meter, "measure", lambda meter: looked.append(1) or measure(meter))
    budget = Budget(lambda: next(times))

    for _ in range(3):
        budget.turn(NOW, 2**40)

    assert len(looked) == 2


def test_the_size_grows_with_rows_and_shrinks_with_them(keep):
    keep(5)
    before = Meter().measure().used
    keep(*range(6, 400), path="/" + "x" * 1500)
    full = Meter().measure().used
    while Budget().turn(NOW, TINY).deleted:
        pass

    assert full - before > 394 * 1000  # PostgreSQL may compress
    assert Meter().measure().used < full / 4


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite keeps no such counters")
def test_the_limit_holds_after_postgresql_lost_its_statistics(keep):
    """As after a crash, a failover or pg_upgrade."""
    keep(100, 50)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_reset()")

    assert Budget().turn(NOW, TINY).deleted == 2


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite is measured exactly")
def test_rows_of_a_large_table_are_estimated_from_a_sample_of_its_pages(keep, monkeypatch):
    keep(*range(1_200), path="/" + "x" * 500)
    assert partitions.estimate_rows("audit_accesslog") == 1_200

    monkeypatch.setattr(partitions, "_SAMPLED_PAGES", 40)

    assert 400 < partitions.estimate_rows("audit_accesslog") < 2_400


def test_other_tables_are_not_the_log(keep, alice):
    keep(5)
    before = Meter().measure().used
    SecurityEvent.objects.bulk_create(
        SecurityEvent(kind="log.gap", severity="high", at=NOW, last_at=NOW, minute=0, detail={"x": "y" * 1000})
        for _ in range(500)
    )

    assert Meter().measure().used == before


def test_the_agent_applies_the_size_setting(keep, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(Budget, "turn", lambda *asked: seen.append(asked[2]) or shortening.Shortened())
    system_settings.change(actor="alice", access_log_max_bytes=2**30)

    LogShipper(tmp_path / "spool").turn()

    assert seen == [2**30]


def test_whole_days_are_dropped_where_deleting_rows_frees_no_space(keep):
    keep(0, 24 * 60, 2 * 24 * 60)
    budget = Budget()
    budget.turn(NOW, TINY)
    first = left()
    budget.turn(NOW, TINY)

    # SQLite has no daily partitions, and deletes row by row.
    has_days = connection.vendor == "postgresql"
    assert first == ([("allow", 24 * 60), ("allow", 0)] if has_days else [])
    assert left() == ([("allow", 0)] if has_days else [])
    assert SecurityEvent.objects.filter(kind="log.shortened").count() == 1
    assert counters.totals()[counters.LOG_DELETED] == (2 if has_days else 3)


def test_rule_rows_are_deleted_with_their_day(keep, monkeypatch):
    """Rows for the filter ``rule_id`` are in a table without daily partitions, and count as part of the log."""
    keep(24 * 60, 24 * 60 + 1, refused=True)
    keep(1, refused=True)

    if connection.vendor != "postgresql":  # SQLite has no daily partitions
        early = AccessLog.objects.filter(at__lt=NOW - timedelta(hours=12))
        monkeypatch.setattr(shortening.partitions, "drop_oldest", lambda _today: early.delete()[0])
    assert Budget().turn(NOW, TINY).days == 1

    assert left() == [("deny", 1)]
    assert AccessLogRule.objects.count() == 1
