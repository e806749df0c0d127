"""What the rows of the access log say. Reads only."""

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from audit.models import AccessLog, UseCount

_SLACK = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Use:
    """How often a row of policy decided, or a credential was used, and when last."""

    count: int = 0
    last_at: datetime | None = None


def uses_of(kind: str, row_ids: Collection[int]) -> dict[int, Use]:
    """Return the uses of these rows, in one query; those that were never used are not in it."""
    rows = UseCount.objects.filter(kind=kind, row_id__in=row_ids).values_list("row_id", "count", "last_at")
    return {row_id: Use(count, last_at) for row_id, count, last_at in rows}


def answer(decision_id: uuid.UUID) -> AccessLog | None:
    """Return the row of a decision, or None."""
    rows, moments = AccessLog.objects.filter(decision_id=decision_id), around(decision_id)
    return (rows.filter(at__range=moments) if moments else rows).first()


def around(decision_id: uuid.UUID) -> tuple[datetime, datetime] | None:
    """Return between which moments a decision of this id was made, or None if it does not say.

    A version 7 id says when it was made (RFC 9562 section 5.7), so that only the partitions around that
    moment are looked at.
    """
    if decision_id.version != 7:
        return None
    try:
        made = datetime.fromtimestamp((decision_id.int >> 80) / 1000, UTC)
        return made - _SLACK, made + _SLACK
    except (ValueError, OverflowError, OSError):  # a moment that no calendar has
        return None
