"""JSON body of webhook notices, from the fields of the event."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from audit.events.recording import Event

MAX_DETAIL = 16_384
"""Larger details are omitted, as receivers accept about 20 kB; the event has them."""


def begun(event: Event, *, incident: str | None, count: int, first_at: datetime, last_at: datetime) -> dict[str, Any]:
    """Return the data of a notice about a new incident or, if ``incident`` is None, about a single event."""
    detail = dict(event.detail)
    return {
        "incident": incident,
        "state": "begun" if incident else "single",
        "kind": event.kind.value,
        "severity": event.kind.severity.value,
        "count": count,
        "first_at": moment(first_at),
        "last_at": moment(last_at),
        "client_ip": event.client_ip,
        "country_code": event.country_code,
        "user": {"id": event.user.pk, "name": event.user.username[:100]} if event.user else None,
        "detail": detail if len(json.dumps(detail)) <= MAX_DETAIL else None,
        "decision_id": str(event.decision_id) if event.decision_id else None,
    }


def ended(begun: Mapping[str, Any], *, count: int, last_at: datetime, at: datetime, why: str) -> dict[str, Any]:
    """Return the data of a notice about the end of an incident, from the data of its first notice."""
    changed = {"state": "ended", "count": count, "last_at": moment(last_at)}
    return {**begun, **changed, "ended_at": moment(at), "ended_by": why}


def body_of(kind: str, at: datetime, data: Mapping[str, Any]) -> str:
    """Return the body of a notice in the format of Standard Webhooks."""
    return json.dumps({"type": kind, "timestamp": moment(at), "data": data}, separators=(",", ":"))


def moment(at: datetime) -> str:
    """Format a time as the API does: UTC, with microseconds."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
