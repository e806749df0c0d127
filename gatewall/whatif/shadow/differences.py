"""Group the requests that the shadow policy would have answered differently, most requests first. Read-only."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from audit.models import AccessLog
from audit.querying import keyset
from gatewall.engine.model import Effect

MOST_READ = 5_000
MOST_SHOWN = 50
_EXAMPLES = 3
_COLUMNS = (
    *("decision_id", "host", "client_ip", "outcome", "reason", "subject_kind", "subject_id", "subject_name", "shadow"),
)


class Direction(StrEnum):
    """How the answer of the shadow policy differs; ``other``: refused or let in like before, for another reason."""

    REFUSED = "refused"
    LET_IN = "let-in"
    OTHER = "other"


@dataclass(slots=True)
class Group:
    """Requests of one subject, host or client whose answer would have changed in the same way."""

    who: str
    host: str
    direction: Direction
    before: str
    after: str
    count: int = 0
    examples: list[str] = field(default_factory=list)

    def add(self, decision_id: str) -> None:
        self.count += 1
        if len(self.examples) < _EXAMPLES:
            self.examples.append(decision_id)


@dataclass(frozen=True, slots=True)
class Differences:
    """Groups of the newest differing requests, at most ``MOST_READ``: by subject, host, and unauthenticated client."""

    read: int
    is_complete: bool
    refused: int
    let_in: int
    people: list[Group]
    hosts: list[Group]
    anonymous: list[Group]


def differences_since(since: datetime, most: int = MOST_READ) -> Differences:
    """Return the groups of requests that the shadow policy would have answered differently since a moment."""
    rows = AccessLog.objects.filter(at__gte=since, shadow__isnull=False).order_by(*keyset.NEWEST_FIRST)
    found = list(rows.only(*_COLUMNS)[: most + 1])
    read = found[:most]
    directions = [_direction_of(row) for row in read]
    return Differences(
        read=len(read),
        is_complete=len(found) <= most,
        refused=directions.count(Direction.REFUSED),
        let_in=directions.count(Direction.LET_IN),
        people=_groups((_person_of(row), row) for row in read if row.subject_kind),
        hosts=_groups((row.host or "-", row) for row in read),
        anonymous=_groups((row.client_ip, row) for row in read if not row.subject_kind),
    )


def _groups(rows: Iterable[tuple[str, AccessLog]]) -> list[Group]:
    groups: dict[Hashable, Group] = {}
    for who, row in rows:
        host, direction, shadow = row.host or "-", _direction_of(row), _shadow_of(row)
        key = who, host, direction, row.reason, shadow["reason"]
        if key not in groups:
            groups[key] = Group(who, host, direction, row.reason, shadow["reason"])
        groups[key].add(str(row.decision_id))
    return sorted(groups.values(), key=lambda group: -group.count)[:MOST_SHOWN]


def _direction_of(row: AccessLog) -> Direction:
    before, after = row.outcome == Effect.ALLOW, _shadow_of(row)["effect"] == Effect.ALLOW
    if before == after:
        return Direction.OTHER
    return Direction.REFUSED if before else Direction.LET_IN


def _shadow_of(row: AccessLog) -> dict[str, Any]:
    return dict(row.shadow or {})


def _person_of(row: AccessLog) -> str:
    return row.subject_name or f"{row.subject_kind} {row.subject_id}"
