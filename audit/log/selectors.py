"""Single entries of the access log. Read-only."""

import uuid
from datetime import UTC, datetime, timedelta

from audit.models import AccessLog

_SLACK = timedelta(hours=1)


def answer(decision_id: uuid.UUID) -> AccessLog | None:
    """Return the access log entry of a decision, or None."""
    rows, moments = AccessLog.objects.filter(decision_id=decision_id), around(decision_id)
    return (rows.filter(at__range=moments) if moments else rows).first()


def around(decision_id: uuid.UUID) -> tuple[datetime, datetime] | None:
    """Return the time range of a decision, from its UUIDv7 (RFC 9562 section 5.7); None for other versions.

    Limits a query to the partitions around that time.
    """
    if decision_id.version != 7:
        return None
    try:
        made = datetime.fromtimestamp((decision_id.int >> 80) / 1000, UTC)
        return made - _SLACK, made + _SLACK
    except (ValueError, OverflowError, OSError):  # a time outside the calendar
        return None
