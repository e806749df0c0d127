"""Pages of the security events, newest first: what ``log_query`` is to the access log.

A page is found by the moment and id of the last row before it, and looks at no more than a budget of
rows; where filters match little it may be short, even empty, and still have a ``next``.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import Q

from audit.models import SecurityEvent
from gatewall.credentials import base64url

SCAN_BUDGET = 20_000
COUNT_BUDGET = 1_000_000
_EXPORT_PAGE = 1_000
_NEWEST_FIRST = ("-at", "-id")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CURSOR = struct.Struct(">qq")


class EventCursorRefused(ValueError):
    """The text is no cursor of ours."""


@dataclass(frozen=True, slots=True)
class EventCursor:
    """Where a page begins: behind this row. It need not be there any more."""

    at: datetime
    id: int

    def __str__(self) -> str:
        """Return the cursor as it stands in a URL."""
        return base64url.encode(_CURSOR.pack((self.at - _EPOCH) // timedelta(microseconds=1), self.id))

    @classmethod
    def parse(cls, text: str) -> "EventCursor":
        """Return the cursor that a URL names. Raises EventCursorRefused."""
        content = base64url.decode(text)
        if content is None or len(content) != _CURSOR.size:
            raise EventCursorRefused("the cursor is not one of ours")
        microseconds, number = _CURSOR.unpack(content)
        try:
            return cls(_EPOCH + timedelta(microseconds=microseconds), number)
        except OverflowError:
            raise EventCursorRefused("the cursor is not one of ours") from None


@dataclass(frozen=True, slots=True)
class EventFilters:
    """What to look for: ``index`` has its rows in the order of time in an index, ``rest`` is held against each."""

    index: Q
    rest: Q


@dataclass(frozen=True, slots=True)
class EventPage:
    """Rows, and where the next page begins: None where there are no more."""

    rows: list[SecurityEvent]
    next: EventCursor | None


def page_of(filters: EventFilters, after: EventCursor | None, size: int, *, budget: int = SCAN_BUDGET) -> EventPage:
    """Return the next page of the events that match."""
    candidates = SecurityEvent.objects.filter(filters.index & (_behind(after) if after else Q()))
    candidates = candidates.order_by(*_NEWEST_FIRST)
    edge = None
    if filters.rest:
        found = [EventCursor(*row) for row in candidates.values_list("at", "id")[budget - 1 : budget + 1]]
        edge = found[0] if len(found) > 1 else None
    looked_at = candidates.filter(_not_behind(edge)) if edge else candidates
    rows = list(looked_at.filter(filters.rest)[: size + 1])
    if len(rows) > size:
        return EventPage(rows[:size], EventCursor(rows[size - 1].at, rows[size - 1].pk))
    return EventPage(rows, edge)


def number_of(filters: EventFilters, *, budget: int = COUNT_BUDGET) -> int | None:
    """Return how many events match, or None if more than the budget would have to be looked at."""
    candidates = SecurityEvent.objects.filter(filters.index)
    if candidates.order_by(*_NEWEST_FIRST)[budget : budget + 1].exists():
        return None
    return candidates.filter(filters.rest).count()


def everything(filters: EventFilters, after: EventCursor | None = None) -> Iterator[SecurityEvent]:
    """Yield all events that match, newest first, a page at a time, each with queries of its own."""
    while True:
        page = page_of(filters, after, _EXPORT_PAGE)
        yield from page.rows
        if page.next is None:
            return
        after = page.next


def _behind(cursor: EventCursor) -> Q:
    # The first part says nothing new, but an index can begin where it says.
    return Q(at__lte=cursor.at) & (Q(at__lt=cursor.at) | Q(id__lt=cursor.id))


def _not_behind(cursor: EventCursor) -> Q:
    return Q(at__gte=cursor.at) & (Q(at__gt=cursor.at) | Q(id__gte=cursor.id))
