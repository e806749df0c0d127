"""Measure the size of the access log in the database, including indexes."""

from dataclasses import dataclass
from typing import Any

from django.db import OperationalError, connection

from audit.storage import partitions

TABLES = ("audit_accesslog", "audit_accesslogrule")
_INDEX_BYTES = 350
"""Bytes per row on PostgreSQL for header and six index entries."""
_SAMPLE = 500
_OTHERS = "SELECT name FROM sqlite_master WHERE rootpage > 0 AND tbl_name NOT IN (%s, %s)"
_ON_DISK = (
    "SELECT coalesce(sum(pg_total_relation_size(relid)), 0)::bigint "
    "FROM (SELECT relid FROM pg_partition_tree(%s) UNION ALL SELECT %s::regclass) relations"
)
_ROW = (
    "SELECT coalesce(avg(pg_column_size(part.*)), 0)::bigint FROM "
    "(SELECT * FROM audit_accesslog ORDER BY at DESC LIMIT %s) part"
)


@dataclass(frozen=True, slots=True)
class LogSize:
    """Bytes ``used`` by rows, and ``on_disk`` including free space for new rows."""

    used: int
    on_disk: int


class Meter:
    """Measure the access log; the slow part is cached until ``forget()``."""

    def __init__(self) -> None:
        self._others: int | None = None

    def forget(self) -> None:
        """Clear the cache."""
        self._others = None

    def measure(self) -> LogSize:
        """Return the current size. Raises django.db.Error.

        SQLite: exact, in pages: all used pages except those of the other tables, which are few. Without dbstat it is
        the whole database. PostgreSQL: estimated row count times the average size of the newest rows; ``on_disk`` is
        exact.
        """
        return self._sqlite() if connection.vendor == "sqlite" else _postgresql()

    def _sqlite(self) -> LogSize:
        with connection.cursor() as cursor:
            page, pages, free = (
                cursor.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_size", "page_count", "freelist_count")
            )
        if self._others is None:
            self._others = _other_tables()
        return LogSize(max(0, page * (pages - free) - self._others), max(0, page * pages - self._others))


def _other_tables() -> int:
    with connection.cursor() as cursor:
        cursor.execute(_OTHERS, TABLES)
        names = [name for (name,) in cursor.fetchall()]
        try:
            return sum(_bytes_of(cursor, name) for name in names)
        except OperationalError:
            return 0  # SQLite without dbstat


def _bytes_of(cursor: Any, name: str) -> int:
    cursor.execute("SELECT coalesce(sum(pgsize), 0) FROM dbstat WHERE name = %s AND aggregate = 1", [name])
    return int(cursor.fetchone()[0])


def _postgresql() -> LogSize:
    log, rules = TABLES
    with connection.cursor() as cursor:
        cursor.execute(_ON_DISK, [log, rules])
        (on_disk,) = cursor.fetchone()
        cursor.execute(_ROW, [_SAMPLE])
        (row,) = cursor.fetchone()
    return LogSize(min(on_disk, partitions.estimate_rows(log) * (row + _INDEX_BYTES)), on_disk)
