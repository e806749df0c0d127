"""Record security events, in the transaction of the change they describe. The only writer of their table.

Events that visitors can cause at will are counted in one row per minute, client and ``key``; a kind has at most 1,000
rows a minute, further events are counted in one row without a client. Callers must not put text that people typed into
``detail``. Listeners are called with the events, in the transaction of the events.
"""

import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol

from django.db import connection, transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac

from audit.counting.counts import MINUTE
from audit.event_kinds import EventKind
from audit.figures.counters import add_each, of_events
from audit.models import SecurityEvent
from audit.spool.records import storable
from audit.spool.rows import client_key

MAX_ROWS_A_MINUTE = 1_000
MAX_MARKS = 64
_BATCH = 500
_MARK_LENGTH = 12
_COUNT_UP = (
    "UPDATE audit_securityevent SET count = count + %s, "
    "last_at = CASE WHEN last_at < %s THEN %s ELSE last_at END WHERE rollup = %s"
)


class Account(Protocol):
    """The attributes of a user that an event records."""

    pk: Any
    username: str


@dataclass(frozen=True, slots=True)
class Event:
    """A security event. ``user`` is its subject or actor."""

    kind: EventKind
    at: datetime | None = None
    client_ip: str | None = None
    user: Account | None = None
    country_code: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
    decision_id: uuid.UUID | None = None


@dataclass(frozen=True, slots=True)
class EventCount:
    """A number of equal events; events with the same client, ``key`` and period (in seconds) share a row."""

    event: Event
    key: str
    count: int = 1
    last_at: datetime | None = None
    mark: str = ""
    period: int = MINUTE

    @property
    def moment(self) -> datetime:
        """Return when the first event happened."""
        return self.event.at or timezone.now()

    @property
    def rollup(self) -> str:
        """Return the key of the row that the events share."""
        period = int(self.moment.timestamp()) // self.period
        return f"{self.event.kind} {period} {_key_of(self.event.client_ip) or ''} {self.key}"[:200]


Listener = Callable[[Sequence[EventCount]], None]
_listeners: list[Listener] = []


def call_in_transaction(*listeners: Listener) -> None:
    """Register the listeners, which are called with new events in the transaction of the events."""
    _listeners[:] = listeners


def record_event(event: Event) -> None:
    """Insert an event, in the transaction of the change it describes."""
    record_events([event])


@transaction.atomic
def record_events(events: Iterable[Event]) -> None:
    """Insert events, in the transaction of the change they describe."""
    now = timezone.now()
    event_counts = [EventCount(replace(event, at=event.at or now), "") for event in events]
    SecurityEvent.objects.bulk_create([_row(event_count.event, event_count.moment) for event_count in event_counts])
    _notify(event_counts)


def count_event(event: Event, key: str, *, mark: str = "", period: int = MINUTE) -> None:
    """Count an event in the row of its client, key and period; the first one inserts the row."""
    count_events([EventCount(replace(event, at=event.at or timezone.now()), key, mark=mark, period=period)])


@transaction.atomic
def count_events(event_counts: Iterable[EventCount]) -> None:
    """Count events in the rows of their clients, keys and periods."""
    chosen: dict[str, EventCount] = {}
    for event_count in event_counts:
        chosen[event_count.rollup] = _merge(chosen.get(event_count.rollup), event_count)
    ordered = sorted(chosen)  # a fixed order of locks prevents deadlocks
    for start in range(0, len(ordered), _BATCH):
        _count_up({rollup: chosen[rollup] for rollup in ordered[start : start + _BATCH]})
    _notify([chosen[rollup] for rollup in ordered])


def mark_of(text: str) -> str:
    """Return a keyed digest of the text, to tell equal texts from different ones."""
    return salted_hmac("gatewall.events", text, algorithm="sha256").hexdigest()[:_MARK_LENGTH]


def _notify(event_counts: Sequence[EventCount]) -> None:
    numbers: Counter[str] = Counter()
    for event_count in event_counts:
        numbers[of_events(event_count.event.kind)] += event_count.count
    add_each(numbers)
    for listener in _listeners if event_counts else ():
        listener(event_counts)


def _count_up(event_counts: dict[str, EventCount]) -> None:
    existing = set(SecurityEvent.objects.filter(rollup__in=event_counts).values_list("rollup", flat=True))
    counted = _limit_rows(
        {rollup: event_count for rollup, event_count in event_counts.items() if rollup not in existing}
    )
    SecurityEvent.objects.bulk_create(
        (_row(event_count.event, event_count.moment, rollup) for rollup, event_count in counted.items()),
        ignore_conflicts=True,
    )
    counted |= {rollup: event_count for rollup, event_count in event_counts.items() if rollup in existing}
    moment = connection.ops.adapt_datetimefield_value
    with connection.cursor() as cursor:
        cursor.executemany(
            _COUNT_UP,
            [
                (event_count.count, *[moment(event_count.last_at or event_count.moment)] * 2, rollup)
                for rollup, event_count in sorted(counted.items())
            ],
        )
    _add_marks({rollup: event_count.mark for rollup, event_count in counted.items() if event_count.mark})


def _limit_rows(new: dict[str, EventCount]) -> dict[str, EventCount]:
    """Return the new rows; rows over the limit of their minute are merged into one row without a client."""
    room: dict[tuple[EventKind, int], int] = {}
    counted: dict[str, EventCount] = {}
    for rollup, event_count in new.items():
        slot = event_count.event.kind, _minute(event_count.moment)
        if slot not in room:
            rows = SecurityEvent.objects.filter(kind=slot[0], minute=slot[1])
            room[slot] = MAX_ROWS_A_MINUTE - rows.count()
        if room[slot] > 0:
            room[slot] -= 1
            counted[rollup] = event_count
            continue
        others = EventCount(
            Event(event_count.event.kind, event_count.moment, detail={"clients": "others"}), "others", event_count.count
        )
        counted[others.rollup] = _merge(counted.get(others.rollup), others)
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
        severity=event.kind.severity.value,
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
    return int(at.timestamp()) // MINUTE


def _merge(one: EventCount | None, other: EventCount) -> EventCount:
    """Merge two counts of one row."""
    if one is None:
        return other
    last_at = max(event_count.last_at or event_count.moment for event_count in (one, other))
    first = min(one, other, key=lambda event_count: event_count.moment)
    return replace(first, count=one.count + other.count, last_at=last_at)
