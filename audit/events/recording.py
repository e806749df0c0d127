"""Security events: the one place that writes them. Whoever changes something records it in its transaction.

What anybody can make happen as often as they like is counted up in one row per minute, client and
``key``, and of one kind a minute has at most 1,000 rows: what has no room is counted in one row without
a client. A detail has no place for what people type; the callers see to that.

Each is also handed to one witness, in the transaction that it is written in (``gatewall.policy.revisions`` has one,
too).
"""

import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Protocol

from django.db import connection, transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac

from audit.event_kinds import SEVERITIES, EventKind
from audit.figures.tallies import add_each, of_events
from audit.models import SecurityEvent
from audit.spool.records import storable
from audit.spool.rows import client_key

MAX_ROWS_A_MINUTE = 1_000
MAX_MARKS = 64
MINUTE = 60
_AT_ONCE = 500
_MARK_LENGTH = 12
_COUNT_UP = (
    "UPDATE audit_securityevent SET count = count + %s, "
    "last_at = CASE WHEN last_at < %s THEN %s ELSE last_at END WHERE rollup = %s"
)


class Account(Protocol):
    """A user, as far as an event names them."""

    pk: Any
    username: str


@dataclass(frozen=True, slots=True)
class Event:
    """What happened. ``user`` is whose account it is about, or who did it."""

    kind: EventKind
    at: datetime | None = None
    client_ip: str | None = None
    user: Account | None = None
    country_code: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
    decision_id: uuid.UUID | None = None


@dataclass(frozen=True, slots=True)
class Tally:
    """An event that happened so often. Those of one client, ``key`` and period (in seconds) are one row."""

    event: Event
    key: str
    count: int = 1
    last_at: datetime | None = None
    mark: str = ""
    period: int = MINUTE

    @property
    def moment(self) -> datetime:
        """When it happened first."""
        return self.event.at or timezone.now()

    @property
    def rollup(self) -> str:
        """The text that all events of one row have in common."""
        period = int(self.moment.timestamp()) // self.period
        return f"{self.event.kind} {period} {_key_of(self.event.client_ip) or ''} {self.key}"[:200]


Witness = Callable[[Sequence[Tally]], None]
_witness: list[Witness] = []


def tell_within(witness: Witness) -> None:
    """Have this called with what is written, in its transaction."""
    _witness[:] = [witness]


def record_event(event: Event) -> None:
    """Write an event of its own. For a service: in the transaction of the change that it tells of."""
    record_events([event])


@transaction.atomic
def record_events(events: Iterable[Event]) -> None:
    """Write events of their own, as ``record_event()`` does."""
    now = timezone.now()
    told = [Tally(replace(event, at=event.at or now), "") for event in events]
    SecurityEvent.objects.bulk_create([_row(tally.event, tally.moment) for tally in told])
    _tell(told)


def count_event(event: Event, key: str, *, mark: str = "", period: int = MINUTE) -> None:
    """Count an event in the row of its client, key and period, which is made if it is the first."""
    count_events([Tally(replace(event, at=event.at or timezone.now()), key, mark=mark, period=period)])


@transaction.atomic
def count_events(tallies: Iterable[Tally]) -> None:
    """Count events in their rows, as ``count_event()`` does."""
    chosen: dict[str, Tally] = {}
    for tally in tallies:
        chosen[tally.rollup] = _together(chosen.get(tally.rollup), tally)
    ordered = sorted(chosen)  # two who count in the same rows take them in one order
    for start in range(0, len(ordered), _AT_ONCE):
        _count_up({rollup: chosen[rollup] for rollup in ordered[start : start + _AT_ONCE]})
    _tell([chosen[rollup] for rollup in ordered])


def mark_of(text: str) -> str:
    """Return what tells this text from others, and from which nobody without our key learns it."""
    return salted_hmac("gatewall.events", text, algorithm="sha256").hexdigest()[:_MARK_LENGTH]


def _tell(tallies: Sequence[Tally]) -> None:
    numbers: Counter[str] = Counter()
    for tally in tallies:
        numbers[of_events(tally.event.kind)] += tally.count
    add_each(numbers)
    for witness in _witness if tallies else ():
        witness(tallies)


def _count_up(tallies: dict[str, Tally]) -> None:
    there = set(SecurityEvent.objects.filter(rollup__in=tallies).values_list("rollup", flat=True))
    counted = _with_room({rollup: tally for rollup, tally in tallies.items() if rollup not in there})
    SecurityEvent.objects.bulk_create(
        (_row(tally.event, tally.moment, rollup) for rollup, tally in counted.items()), ignore_conflicts=True
    )
    counted |= {rollup: tally for rollup, tally in tallies.items() if rollup in there}
    moment = connection.ops.adapt_datetimefield_value
    with connection.cursor() as cursor:
        cursor.executemany(
            _COUNT_UP,
            [
                (tally.count, *[moment(tally.last_at or tally.moment)] * 2, rollup)
                for rollup, tally in sorted(counted.items())
            ],
        )
    _add_marks({rollup: tally.mark for rollup, tally in counted.items() if tally.mark})


def _with_room(new: dict[str, Tally]) -> dict[str, Tally]:
    """Return these, those that their minute has no row for any more counted together without a client."""
    room: dict[tuple[EventKind, int], int] = {}
    counted: dict[str, Tally] = {}
    left_over: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for rollup, tally in new.items():
        place = tally.event.kind, _minute(tally.moment)
        if place not in room:
            rows = SecurityEvent.objects.filter(kind=place[0], minute=place[1])
            room[place] = MAX_ROWS_A_MINUTE - rows.count()
        if room[place] > 0:
            room[place] -= 1
            counted[rollup] = tally
            continue
        others = Tally(Event(tally.event.kind, tally.moment, detail={"clients": "others"}), "others")
        left_over[others.rollup]["count"] += tally.count
        counted[others.rollup] = replace(others, count=left_over[others.rollup]["count"])
    return counted


def _add_marks(marks: dict[str, str]) -> None:
    changed = []
    rows = SecurityEvent.objects.select_for_update().order_by("rollup").in_bulk(marks, field_name="rollup")
    for rollup, row in rows.items():
        if marks[rollup] not in row.marks and len(row.marks) < MAX_MARKS:
            row.marks = [*row.marks, marks[rollup]]
            changed.append(row)
    if changed:
        SecurityEvent.objects.bulk_update(changed, ["marks"])


def _row(event: Event, at: datetime, rollup: str | None = None) -> SecurityEvent:
    user = event.user
    return SecurityEvent(
        kind=event.kind.value,
        severity=SEVERITIES[event.kind].value,
        at=at,
        last_at=at,
        minute=_minute(at),
        count=1 if rollup is None else 0,
        client_ip=event.client_ip[:45] if event.client_ip else None,
        client_key=_key_of(event.client_ip),
        country_code=event.country_code,
        user_id=user.pk if user else None,
        user_name=storable(user.username, 100) if user else None,
        detail=dict(event.detail),
        decision_id=event.decision_id,
        rollup=rollup,
    )


def _key_of(client_ip: str | None) -> str | None:
    try:
        return client_key(client_ip) if client_ip else None
    except ValueError:
        return None


def _minute(at: datetime) -> int:
    return int(at.astimezone(UTC).timestamp()) // MINUTE


def _together(one: Tally | None, other: Tally) -> Tally:
    """Return what both tallies of one row are."""
    if one is None:
        return other
    last_at = max(tally.last_at or tally.moment for tally in (one, other))
    first = min(one, other, key=lambda tally: tally.moment)
    return replace(first, count=one.count + other.count, last_at=last_at)
