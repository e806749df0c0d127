"""Statistics of the security events, weighted by the ``count`` of each row."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import F, QuerySet, Sum

from audit.counting.counts import MINUTE
from audit.figures.statistics import Window, number_of_bars, require_timeline
from audit.models import SecurityEvent


@dataclass(frozen=True, slots=True)
class EventBar:
    """Number of events from ``at`` to the next bar."""

    at: datetime
    count: int


def counts_by(window: Window, column: str, top: int | None = None) -> list[tuple[str, int]]:
    """Return the number of events of each value of a column, most frequent first."""
    rows = _events(window).exclude(**{f"{column}__isnull": True}).values_list(column)
    counted = rows.annotate(number=Sum("count")).order_by("-number", column)[:top]
    return [(value, int(number)) for value, number in counted]  # PostgreSQL returns sums of integers as decimals


def event_timeline(window: Window, interval: timedelta) -> list[EventBar]:
    """Return the number of events by interval, empty intervals included. Raises FilterRefused.

    Bars start at multiples of the interval since the epoch; the first starts with the window.
    """
    require_timeline(window, interval)
    seconds = int(interval.total_seconds())
    bars = _events(window).annotate(bar=F("minute") / (seconds // MINUTE)).values_list("bar")
    counts = {bar: int(number) for bar, number in bars.annotate(number=Sum("count")).order_by()}
    first = int(window.start.timestamp()) // seconds
    return [
        EventBar(max(window.start, datetime.fromtimestamp(bar * seconds, UTC)), counts.get(bar, 0))
        for bar in range(first, first + number_of_bars(window, seconds))
    ]


def _events(window: Window) -> QuerySet[SecurityEvent]:
    first, last = (int(at.timestamp()) // MINUTE for at in (window.start, window.end))
    return SecurityEvent.objects.filter(minute__gte=first, minute__lt=last)
