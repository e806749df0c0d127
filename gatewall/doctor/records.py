"""Access records of the probes of one examination."""

import re
import uuid
from collections.abc import Mapping
from datetime import datetime, timedelta

from django.db.models import Q

from audit.event_kinds import EventKind
from audit.models import AccessLog, SecurityEvent
from gatewall.doctor.probing.evidence import Arrival

_NUMBER = r"[0-9]{2}"
_CLOCKS_DIFFER = timedelta(seconds=10)
_LATELY = timedelta(minutes=10)
_MOST_ROWS = 500
_MOST_PEERS = 20


def arrivals(run: str, since: datetime, answered: Mapping[str, str]) -> dict[str, Arrival]:
    """Return the records of a run that are in the log so far, by nonce.

    ``answered`` maps decision ids of responses to nonces, for a gate that receives neither path nor user agent.
    """
    ids = {number: nonce for text, nonce in answered.items() if (number := _number(text)) is not None}
    ours = Q(user_agent__contains=run) | Q(path__contains=run) | Q(decision_id__in=list(ids))
    rows = AccessLog.objects.filter(ours, at__gte=since - _CLOCKS_DIFFER).order_by("at", "decision_id")[:_MOST_ROWS]
    found: dict[str, Arrival] = {}
    for row in rows:
        nonce = _nonce(row, run) or ids.get(row.decision_id)
        if nonce is not None:
            found.setdefault(nonce, _arrival(row))
    return found


def untrusted_peers(now: datetime) -> tuple[str, ...]:
    """Return untrusted peers that recently sent forwarding headers, latest first."""
    events = SecurityEvent.objects.filter(kind=EventKind.PROXY_UNTRUSTED, at__gte=now - _LATELY)
    peers = events.order_by("-at", "-id").values_list("client_ip", flat=True)[:_MOST_ROWS]
    return tuple(dict.fromkeys(peer for peer in peers if peer))[:_MOST_PEERS]


def _nonce(row: AccessLog, run: str) -> str | None:
    """Return the nonce of a row, preferably of its user agent, as two probes may share a path."""
    for text in (row.user_agent, row.path):
        if match := re.search(run + _NUMBER, text):
            return match[0]
    return None


def _number(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


def _arrival(row: AccessLog) -> Arrival:
    return Arrival(
        decision_id=str(row.decision_id),
        client=row.client_ip,
        host=row.host,
        method=row.method,
        scheme=row.scheme,
        path=row.path,
        query=row.query,
        status=row.status,
        reason=row.reason,
        visible=frozenset(row.visible),
        subject_kind=row.subject_kind,
    )
