"""Use counts and single entries of the access log. Read-only."""

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from audit.models import AccessLog, UseCount

_SLACK = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Use:
    """The number of uses of a policy row or credential, and the last one."""

    count: int = 0
    last_at: datetime | None = None


def uses_of(kind: str, row_ids: Collection[int]) -> dict[int, Use]:
    """Return the uses of these rows, without unused rows, in one query."""
    rows = UseCount.objects.filter(kind=kind, row_id__in=row_ids).values_list("row_id", "count", "last_at")
    return {row_id: Use(count, last_at) for row_id, count, last_at in rows}


def answer(decision_id: uuid.UUID) -> AccessLog | None:
    """Return the access log entry of a decision, or None."""
    rows, moments = AccessLog.objects.filter(decision_id=decision_id), around(decision_id)
    return (rows.filter(at__range=moments) if moments else rows).first()


def around(decision_id: uuid.UUID) -> tuple[datetime, datetime] | None:
    """Return the range of time of a decision, from its UUIDv7 (RFC 9562 section 5.7); None for other versions.

    Limits a query to the partitions around that time.
    """
    if decision_id.version != 7:
        return None
    try:
        made = datetime.fromtimestamp((decision_id.int >> 80) / 1000, UTC)
        return made - _SLACK, made + _SLACK
    except (ValueError, OverflowError, OSError):  # a time outside the calendar
        return None
