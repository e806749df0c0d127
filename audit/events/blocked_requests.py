"""Record blocked requests as security events: one per minute, client and reason, with the first request's details."""

import uuid
from collections.abc import Iterable
from datetime import UTC, datetime

from audit.counting.counts import MINUTE, start_of
from audit.event_kinds import EventKind
from audit.events.recording import Event, EventCount, count_events
from audit.spool.records import AccessRecord, storable
from gatewall.engine.model import Effect

_LONGEST_PATH = 255


def count_blocked(records: Iterable[AccessRecord]) -> None:
    """Count the refusals among newly inserted records, in the caller's transaction."""
    counted: dict[tuple[int, str, str], tuple[AccessRecord, int, float]] = {}
    for record in records:
        if record.outcome != Effect.DENY:
            continue
        key = start_of(record.at, MINUTE), record.client_ip, record.reason
        first, count, last_at = counted.get(key, (record, 0, record.at))
        counted[key] = min(first, record, key=lambda each: each.at), count + 1, max(last_at, record.at)
    if counted:
        count_events(_event_count(*each) for each in counted.values())


def _event_count(first: AccessRecord, count: int, last_at: float) -> EventCount:
    detail = {
        "reason": first.reason,
        "host": None if first.host is None else storable(first.host, 255),
        "path": storable(first.path, _LONGEST_PATH),
        "rules": [int(rule["id"]) for rule in first.rules],
    }
    event = Event(
        EventKind.REQUEST_BLOCKED,
        datetime.fromtimestamp(first.at, UTC),
        first.client_ip,
        country_code=storable(first.country_code, 2) if first.country_code else None,
        detail=detail,
        decision_id=uuid.UUID(first.decision_id),
    )
    return EventCount(event, first.reason, count, datetime.fromtimestamp(last_at, UTC))
