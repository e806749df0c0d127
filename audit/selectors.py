"""What the rows of the access log say. Reads only."""

import uuid
from datetime import UTC, datetime, timedelta

from audit.models import AccessLog

_SLACK = timedelta(hours=1)


def answer(decision_id: uuid.UUID) -> AccessLog | None:
    """Return the row of a decision, or None.

    A decision id says when it was made (RFC 9562 section 5.7), so that only the partitions around that
    moment are looked at.
    """
    made = _moment_of(decision_id)
    rows = AccessLog.objects.filter(decision_id=decision_id)
    return (rows.filter(at__gte=made - _SLACK, at__lte=made + _SLACK) if made else rows).first()


def _moment_of(decision_id: uuid.UUID) -> datetime | None:
    if decision_id.version != 7:
        return None
    return datetime.fromtimestamp((decision_id.int >> 80) / 1000, UTC)
