"""Monotonic counters for monitoring, except the counts of the access log (``audit.counting.counts``)."""

import logging
from collections.abc import Mapping
from datetime import datetime

from django.db import Error, connection, transaction
from django.db.models import Max
from django.utils import timezone

from audit.event_kinds import EventKind
from audit.models import GapKind, UseCount
from gatewall.kernel.detectors import Detector

logger = logging.getLogger(__name__)

_PREFIX = "tally "
_ADD = (
    "INSERT INTO audit_usecount (kind, row_id, count, last_at) VALUES (%s, 0, %s, %s) "
    "ON CONFLICT (kind, row_id) DO UPDATE SET count = audit_usecount.count + excluded.count, last_at = excluded.last_at"
)


def lost(kind: GapKind) -> str:
    """Return the name of the counter of missing records for this reason."""
    return f"lost.{kind.value}"


def of_events(kind: EventKind) -> str:
    """Return the name of the counter of security events of this kind."""
    return f"event.{kind.value}"


def banned_by(detector: Detector) -> str:
    """Return the name of the counter of bans by this detector."""
    return f"banned.{detector.value}"


LOG_FOLDED, LOG_DELETED = "log.folded", "log.deleted"
"""Rows folded and deleted because the access log was too large (``audit/storage/shortening.py``)."""
LOG_BYTES = "log.bytes"
"""Last measured size of the access log: a gauge, not a counter."""
ALL = (LOG_FOLDED, LOG_DELETED, *map(lost, GapKind), *map(of_events, EventKind), *map(banned_by, Detector))
"""All counters, each a row and a line of ``/metrics``."""


def add(name: str, number: int = 1) -> None:
    """Increase a counter, in the caller's transaction if there is one."""
    moment = connection.ops.adapt_datetimefield_value(timezone.now())
    with connection.cursor() as cursor:
        cursor.execute(_ADD, [f"{_PREFIX}{name}", number, moment])


def add_each(numbers: Mapping[str, int]) -> None:
    """Increase counters, in the caller's transaction on SQLite and right after its commit on PostgreSQL.

    Every PostgreSQL writer needs these rows, so they are not locked for a whole transaction. On SQLite there is one
    writer, and a second transaction would sync again. A failure is only logged.
    """
    if connection.vendor == "sqlite":
        _add_if_possible(numbers)
    else:
        transaction.on_commit(lambda: _add_if_possible(numbers))


def note(name: str, number: int, at: datetime) -> None:
    """Store a measurement in place of the last one."""
    UseCount.objects.update_or_create(kind=f"{_PREFIX}{name}", row_id=0, defaults={"count": number, "last_at": at})


def noted(name: str) -> int | None:
    """Return the last measurement, or None."""
    return UseCount.objects.filter(kind=f"{_PREFIX}{name}", row_id=0).values_list("count", flat=True).first()


def last_at(*names: str) -> datetime | None:
    """Return when one of these counters last increased, or None."""
    kinds = [f"{_PREFIX}{name}" for name in names]
    found: datetime | None = UseCount.objects.filter(kind__in=kinds, row_id=0).aggregate(at=Max("last_at"))["at"]
    return found


def totals() -> dict[str, int]:
    """Return all counters, including zeros."""
    rows = UseCount.objects.filter(kind__in=[f"{_PREFIX}{name}" for name in ALL], row_id=0)
    found = dict(rows.values_list("kind", "count"))
    return {name: found.get(f"{_PREFIX}{name}", 0) for name in ALL}


def _add_if_possible(numbers: Mapping[str, int]) -> None:
    try:
        with transaction.atomic():
            for name, number in sorted(numbers.items()):  # in one order, to avoid deadlocks
                add(name, number)
    except Error as error:
        logger.warning("counters for /metrics were not updated (%s)", type(error).__name__)
