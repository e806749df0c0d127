"""Daily partitions of the access log on PostgreSQL, created ahead and dropped whole."""

from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta

from django.db import Error, connection, transaction

TABLE = "audit_accesslog"
AHEAD = timedelta(days=2)
"""How far ahead partitions are created; for records further from now, none is created."""
_LONGEST_SPAN = timedelta(days=400)
_SAMPLED_PAGES = 2_000
"""16 MiB; the standard error of the row count is 2 to 3 %."""
_PAGES = (
    "SELECT coalesce(sum(pg_relation_size(relid)), 0)::bigint / current_setting('block_size')::int "
    "FROM pg_partition_tree(%s)"
)


def prepare(days: Iterable[date], today: date) -> None:
    """Create the partitions of days near today. Records of other days go to the default partition."""
    if connection.vendor != "postgresql":
        return
    there = _names()
    for day in sorted(set(days)):
        if _name(day) not in there and abs(day - today) <= AHEAD:
            _make(day)


def prepare_span(first: date, last: date, today: date) -> None:
    """Create the partition of each day, for rows that are loaded from a backup: at most the last 400 days."""
    day = max(first, today - _LONGEST_SPAN)
    while connection.vendor == "postgresql" and day <= min(last, today + AHEAD):
        _make(day)
        day += timedelta(days=1)


def drop_before(day: date) -> list[str]:
    """Drop the partitions that end before this day; return their names. Raises django.db.Error if one is in use."""
    old = [name for name in sorted(_names()) if name < _name(day)] if connection.vendor == "postgresql" else []
    for name in old:
        _execute_with_lock_timeout(f"DROP TABLE {name}")
    return old


def drop_oldest(today: date) -> int | None:
    """Drop the oldest partition; return its estimated row count.

    Returns None if no partition is older than today's. Raises django.db.Error if the partition is in use.
    """
    days = sorted(_names()) if connection.vendor == "postgresql" else []
    if not days or days[0] >= _name(today):
        return None
    rows = estimate_rows(days[0])
    _execute_with_lock_timeout(f"DROP TABLE {days[0]}")
    return rows


def estimate_rows(table: str) -> int:
    """Return the row count of the log or of a partition: exact up to 2,000 pages, else from a random sample of pages.

    PostgreSQL's counters (pg_stat_get_live_tuples) are empty after a crash, a failover or pg_upgrade, and an ANALYZE
    overwrites concurrent inserts.
    """
    with connection.cursor() as cursor:
        cursor.execute(_PAGES, [table])
        (pages,) = cursor.fetchone()
        percent = min(100.0, 100 * _SAMPLED_PAGES / max(1, pages))
        cursor.execute(f"SELECT count(*) FROM {table} TABLESAMPLE SYSTEM (%s)", [percent])  # noqa: S608 - our own name
        (rows,) = cursor.fetchone()
    return int(rows * 100 / percent)


def day_of(moment: datetime) -> date:
    """Return the day (UTC) of a time."""
    return moment.astimezone(UTC).date()


def _make(day: date) -> None:
    first, last = (datetime.combine(each, time(), UTC).isoformat() for each in (day, day + timedelta(days=1)))
    statement = (
        f"CREATE TABLE IF NOT EXISTS {_name(day)} PARTITION OF {TABLE} FOR VALUES FROM ('{first}') TO ('{last}')"
    )
    try:
        _execute_with_lock_timeout(statement)
    except Error:
        # A long-running query blocks this: to be retried. Or the default partition already has records of that day,
        # from a wrong clock: they remain there.
        return


def _execute_with_lock_timeout(statement: str) -> None:
    """Execute a statement that needs an exclusive lock, with a short lock timeout, so that readers do not wait long."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL lock_timeout TO '1s'")
        cursor.execute(statement)
        cursor.execute("SET LOCAL lock_timeout TO DEFAULT")


def _names() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT child.relname FROM pg_inherits JOIN pg_class child ON child.oid = inhrelid "
            "WHERE inhparent = %s::regclass AND child.relname ~ %s",
            [TABLE, rf"^{TABLE}_\d{{8}}$"],
        )
        return {name for (name,) in cursor.fetchall()}


def _name(day: date) -> str:
    return f"{TABLE}_{day:%Y%m%d}"
