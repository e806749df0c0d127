"""Keep the access log under ``access_log_max_bytes``: measure it, fold refused rows, then delete the oldest ones.

A folded row is deleted but remains in the roll-ups (``audit/figures/rollups.py``), so that statistics do not change.
"""

import heapq
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any

from django.db import OperationalError, connection, transaction
from django.db.models import Q, Subquery

from audit.event_kinds import EventKind
from audit.events.recording import Event, record_event
from audit.figures import counters
from audit.models import AccessLog, AccessLogRule
from audit.storage import partitions
from gatewall.engine.model import Effect, Reason

YOUNG = timedelta(minutes=10)
"""Minimum age of folded rows: operators may be viewing younger ones."""
EPISODE = timedelta(days=1)
"""One event covers all removals, until none happens for this long."""
_AT_ONCE = 1_000
_PORTIONS = 2
_CHECK_SECONDS = 60.0
_TARGET_RATIO = 0.95
_MAX_DISK_RATIO = 1.5
_REFUSED = tuple(reason.value for reason in Reason if reason.effect is not Effect.ALLOW)
_LOG = "DELETE FROM audit_accesslog WHERE at = %s AND decision_id = %s"
_RULES = "DELETE FROM audit_accesslogrule WHERE rule_id = %s AND at = %s AND decision_id = %s"
_TABLES = ("audit_accesslog", "audit_accesslogrule")
_INDEX_BYTES = 350
"""Bytes per row on PostgreSQL for header and six index entries."""
_OTHER_TABLES = "SELECT name FROM sqlite_master WHERE rootpage > 0 AND tbl_name NOT IN (%s, %s)"
_ON_DISK = (
    "SELECT coalesce(sum(pg_total_relation_size(relid)), 0)::bigint "
    "FROM (SELECT relid FROM pg_partition_tree(%s) UNION ALL SELECT %s::regclass) relations"
)
_ROW_SIZE = (
    "SELECT coalesce(avg(pg_column_size(part.*)), 0)::bigint FROM "
    "(SELECT * FROM audit_accesslog ORDER BY at DESC LIMIT 500) part"
)

Row = tuple[Any, datetime, list[dict[str, Any]]]
"""Decision id, time and WAF rules of a row."""


@dataclass(frozen=True, slots=True)
class LogSize:
    """Number of bytes ``used`` by rows, and ``on_disk`` including free space for new rows."""

    used: int
    on_disk: int


class Meter:
    """Measure the access log; the slow part is cached until ``forget()``."""

    def __init__(self) -> None:
        self._others: int | None = None

    def forget(self) -> None:
        self._others = None

    def measure(self) -> LogSize:
        """Return the current size. Raises django.db.Error.

        SQLite: exact, in pages: all used pages except those of the other tables, which are few. Without dbstat, this is
        the size of the whole database. PostgreSQL: estimated row count times the average size of the newest rows;
        ``on_disk`` is exact.
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
        cursor.execute(_OTHER_TABLES, _TABLES)
        names, size = [name for (name,) in cursor.fetchall()], 0
        try:
            for name in names:
                cursor.execute("SELECT coalesce(sum(pgsize), 0) FROM dbstat WHERE name = %s AND aggregate = 1", [name])
                size += cursor.fetchone()[0]
        except OperationalError:
            return 0  # SQLite without dbstat
    return size


def _postgresql() -> LogSize:
    log, rules = _TABLES
    with connection.cursor() as cursor:
        cursor.execute(_ON_DISK, [log, rules])
        (on_disk,) = cursor.fetchone()
        cursor.execute(_ROW_SIZE)
        (row,) = cursor.fetchone()
    return LogSize(min(on_disk, partitions.estimate_rows(log) * (row + _INDEX_BYTES)), on_disk)


@dataclass(slots=True)
class Shortened:
    """Result of a pass: folded and deleted rows, dropped days."""

    folded: int = 0
    deleted: int = 0
    days: int = 0


class Budget:
    """Check the size once a minute, or in every turn while the log is over the limit; each turn does bounded work."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._meter = Meter()
        self._due_at = float("-inf")
        self._is_over = False

    def is_due(self) -> bool:
        """Return whether the next turn measures; otherwise it does nothing."""
        return self._clock() >= self._due_at

    def turn(self, at: datetime, max_bytes: int) -> Shortened:
        """Shrink the log if it is over its limit. Raises django.db.Error."""
        done = Shortened()
        if not self.is_due():
            return done
        size = self._meter.measure()
        counters.note(counters.LOG_BYTES, size.used, at)
        if size.on_disk > _MAX_DISK_RATIO * max_bytes:
            _drop_a_day(done, at, size, max_bytes)
        self._is_over = size.used > max_bytes * (_TARGET_RATIO if self._is_over else 1)
        if self._is_over and not done.days:  # after dropping a day, measure again first
            self._shrink(done, at, size, max_bytes)
        if not (done.folded or done.deleted or done.days):
            self._due_at = self._clock() + _CHECK_SECONDS
            self._meter.forget()
        return done

    def _shrink(self, done: Shortened, at: datetime, size: LogSize, max_bytes: int) -> None:
        for _ in range(_PORTIONS):
            rows, counter = _oldest_refused(at - YOUNG), counters.LOG_FOLDED
            if not rows:
                rows, counter = _rows(Q()), counters.LOG_DELETED
            if not rows:
                return
            with transaction.atomic():
                _record_event(at, size, max_bytes)
                number = _delete(rows)
                counters.add(counter, number)
            if counter == counters.LOG_FOLDED:
                done.folded += number
            else:
                done.deleted += number
            if self._meter.measure().used <= _TARGET_RATIO * max_bytes:
                return


def _drop_a_day(done: Shortened, at: datetime, size: LogSize, max_bytes: int) -> None:
    with transaction.atomic():
        rows = partitions.drop_oldest(partitions.day_of(at))
        if rows is not None:
            _record_event(at, size, max_bytes)
            counters.add(counters.LOG_DELETED, rows)
            done.days = 1
    if done.days:  # after the transaction: dropping a partition locks the log until the commit
        first = AccessLog.objects.order_by("at").values("at")[:1]
        AccessLogRule.objects.filter(at__lt=Subquery(first)).delete()


def _oldest_refused(before: datetime) -> Sequence[Row]:
    """Return the oldest refused rows, using the index by reason."""
    refused = (AccessLog.objects.filter(reason=reason, at__lt=before).order_by("at") for reason in _REFUSED)
    moments = heapq.merge(*(rows.values_list("at", flat=True)[:_AT_ONCE] for rows in refused))
    found = [moment for moment, _ in zip(moments, range(_AT_ONCE), strict=False)]
    if not found:
        return []
    # both bounds: a scan by time would otherwise read all older rows
    moments_of_these = Q(at__gte=found[0], at__lte=found[-1])
    return _rows(moments_of_these & Q(reason__in=_REFUSED) & ~Q(outcome=Effect.ALLOW.value))


def _rows(condition: Q) -> Sequence[Row]:
    rows = AccessLog.objects.filter(condition).order_by("at", "decision_id")
    return list(rows.values_list("decision_id", "at", "rules")[:_AT_ONCE])


def _delete(rows: Sequence[Row]) -> int:
    key: Callable[[Any], str] = str if connection.vendor == "postgresql" else attrgetter("hex")
    moment = connection.ops.adapt_datetimefield_value
    rules = [(rule["id"], moment(at), key(id_)) for id_, at, found in rows for rule in found]
    with connection.cursor() as cursor:
        cursor.executemany(_LOG, [(moment(at), key(id_)) for id_, at, _ in rows])
        if rules:
            cursor.executemany(_RULES, rules)
    return len(rows)


def _record_event(at: datetime, size: LogSize, max_bytes: int) -> None:
    """Record the event, unless this episode already has one."""
    last = counters.last_at(counters.LOG_FOLDED, counters.LOG_DELETED)
    if last is None or abs(at - last) > EPISODE:
        detail = {"max_bytes": max_bytes, "used_bytes": size.used}
        record_event(Event(EventKind.LOG_SHORTENED, at, detail=detail))
