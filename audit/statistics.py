"""Figures of the access log, from the counts per minute alone: they cost the same however many rows there are."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import QuerySet, Sum

from audit.counts import LATENCY_BOUNDS_US, OTHER
from audit.models import MinuteCount

TOP = 10
_SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


@dataclass(frozen=True, slots=True)
class Window:
    """From one moment to another, in whole minutes."""

    start: datetime
    end: datetime

    @classmethod
    def of(cls, start: datetime, end: datetime) -> "Window":
        """Return the whole minutes in which these moments lie."""
        return cls(_minute(start), _minute(end) + (timedelta(minutes=1) if end > _minute(end) else timedelta()))

    @property
    def seconds(self) -> float:
        """How long it is."""
        return (self.end - self.start).total_seconds()


@dataclass(frozen=True, slots=True)
class Bar:
    """The answers from ``at`` on, for the length of an interval."""

    at: datetime
    outcomes: Counter[str]


def totals(window: Window, kind: str) -> dict[str, int]:
    """Return how many answers had each key of a kind, the most frequent first."""
    rows = _counts(window, kind).values("key").annotate(total=Sum("count")).order_by("-total", "key")
    return {row["key"]: row["total"] for row in rows}


def top(window: Window, kind: str, number: int = TOP) -> list[tuple[str, int]]:
    """Return the most frequent keys of an open-ended kind.

    A minute counts 1,000 keys by name and the others together, so that a key that is rare in every
    minute may be counted too low, by at most the count of ``(other)``.
    """
    rows = _counts(window, kind).exclude(key=OTHER).exclude(key="")
    found = rows.values("key").annotate(total=Sum("count")).order_by("-total", "key")[:number]
    return [(row["key"], row["total"]) for row in found]


def is_exact(window: Window, kind: str) -> bool:
    """True if no answer of the window was counted under ``(other)``."""
    return not _counts(window, kind).filter(key=OTHER).exists()


def timeline(window: Window, interval: timedelta) -> list[Bar]:
    """Return the outcomes by interval, the empty ones included. An interval is a whole number of minutes."""
    bars: dict[int, Counter[str]] = {}
    for row in _counts(window, "outcome").values("minute", "key").annotate(total=Sum("count")):
        number = int((row["minute"] - window.start) / interval)
        bars.setdefault(number, Counter())[row["key"]] += row["total"]
    length = -(-window.seconds // interval.total_seconds())
    return [Bar(window.start + interval * number, bars.get(number, Counter())) for number in range(int(length))]


def latency(window: Window) -> dict[str, int | None]:
    """Return the median, 95th and 99th percentile in microseconds, as the upper bound of their class."""
    classes = {int(key): number for key, number in totals(window, "latency").items()}
    return {name: _percentile(classes, share) for name, share in _SHARES.items()}


def _percentile(classes: dict[int, int], share: float) -> int | None:
    wanted, seen = share * sum(classes.values()), 0
    for bound in sorted(classes):
        seen += classes[bound]
        if seen >= wanted:
            return min(bound, LATENCY_BOUNDS_US[-1])
    return None


def _counts(window: Window, kind: str) -> QuerySet[MinuteCount]:
    return MinuteCount.objects.filter(kind=kind, minute__gte=window.start, minute__lt=window.end)


def _minute(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(second=0, microsecond=0)


def as_items(name: str, counted: Iterable[tuple[str, int]]) -> list[dict[str, object]]:
    """Return counts as the API shows them: ``{<name>, count}``."""
    return [{name: key, "count": number} for key, number in counted]
