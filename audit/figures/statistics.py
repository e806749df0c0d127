"""Figures of the access log, from the counts per span alone: they cost the same however many rows there are."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.db.models import Q, QuerySet, Sum

from audit.counting.counts import DAY, EVER, HOUR, KEYS, MINUTE, TEN_MINUTES, rule_of, start_of
from audit.counting.merging import put_together
from audit.counting.summaries import Summary
from audit.models import GapKind, LogGap, SpanCount

MAX_BARS = 1_500
MAX_WINDOW = timedelta(days=366)
_LONGEST = {MINUTE: timedelta(days=2), TEN_MINUTES: timedelta(days=8), HOUR: timedelta(days=62), DAY: MAX_WINDOW}
"""How long a timeline may be whose bars are put together from spans of this width."""
_ROUNDING = timedelta(minutes=1)
"""So much longer whole minutes may be than what was asked for."""
_FIRST_YEAR, _LAST_YEAR = 1971, 9998
_SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


class WindowRefused(ValueError):
    """The figures of such a window are not to be had; ``field`` says which part of it is wrong."""

    def __init__(self, field: str, words: str) -> None:
        super().__init__(words)
        self.field = field


@dataclass(frozen=True, slots=True)
class Window:
    """From one moment up to another, in whole minutes."""

    start: datetime
    end: datetime

    @classmethod
    def of(cls, start: datetime, end: datetime) -> "Window":
        """Return the whole minutes in which these moments lie. Raises WindowRefused."""
        if start >= end:
            raise WindowRefused("start_time", "the start is before the end")
        if end - start > MAX_WINDOW:
            raise WindowRefused("start_time", f"at most {MAX_WINDOW.days} days before the end")
        if not _FIRST_YEAR <= start.year <= end.year <= _LAST_YEAR:
            raise WindowRefused("start_time", f"a window lies in the years {_FIRST_YEAR} to {_LAST_YEAR}")
        return cls(_moment(start_of(start.timestamp(), MINUTE)), _moment(-start_of(-end.timestamp(), MINUTE)))

    @classmethod
    def until(cls, end: datetime, length: timedelta) -> "Window":
        """Return the window of this length, in whole minutes, that ends with the minute of a moment."""
        last = _moment(-start_of(-end.timestamp(), MINUTE))
        return cls(last - length, last)


@dataclass(frozen=True, slots=True)
class Bar:
    """The answers from ``at`` on, up to the next bar."""

    at: datetime
    outcomes: Summary


def summaries(window: Window, kinds: Collection[str]) -> dict[str, Summary]:
    """Return what the answers of the window had, by kind, in one query."""
    found = {kind: Summary() for kind in kinds}
    rows = _spans(window, kinds, DAY).order_by("kind", "width", "start")
    spans = rows.values_list("kind", "width", "counts", "error")
    for (kind, _), run in groupby(spans, key=itemgetter(0, 1)):
        found[kind].add(put_together([(text, error) for _, _, text, error in run]))
    return found


def ever(kinds: Collection[str]) -> dict[str, Summary]:
    """Return what all answers had since the installation, by kind, of those that are counted for ever."""
    found = {kind: Summary() for kind in kinds}
    rows = SpanCount.objects.filter(kind__in=kinds, width=EVER)
    for kind, text, error in rows.values_list("kind", "counts", "error"):
        found[kind].add_text(text, error)
    return found


def require_timeline(window: Window, interval: timedelta) -> None:
    """Raise WindowRefused unless the window can be shown in bars of this length."""
    seconds = int(interval.total_seconds())
    if seconds % MINUTE:
        raise WindowRefused("interval", f"a multiple of {MINUTE} seconds")
    width = _widest_in(seconds)
    if window.end - window.start > _LONGEST[width] + _ROUNDING:
        raise WindowRefused("interval", f"such an interval is for windows of at most {_LONGEST[width].days} days")
    if _number_of_bars(window, seconds) > MAX_BARS:
        raise WindowRefused("interval", f"so long a window would have more than {MAX_BARS} bars")


def timeline(window: Window, interval: timedelta) -> list[Bar]:
    """Return the outcomes by interval, the empty ones included. Raises WindowRefused.

    Bars begin at whole multiples of the interval (since 1970, in UTC); the first begins with the window.
    """
    require_timeline(window, interval)
    seconds = int(interval.total_seconds())
    first, start = int(window.start.timestamp()) // seconds, window.start
    bars = [
        Bar(max(start, _moment((first + number) * seconds)), Summary())
        for number in range(_number_of_bars(window, seconds))
    ]
    rows = _spans(window, ["outcome"], _widest_in(seconds)).values_list("start", "counts")
    for moment, text in rows:
        bars[int(moment.timestamp()) // seconds - first].outcomes.add_text(text, 0)
    return bars


def percentiles(latency: Summary) -> dict[str, int | None]:
    """Return median, 95th and 99th percentile in microseconds, at most a tenth too long; None without answers."""
    classes = {int(key): number for key, number in latency.counts.items()}
    return {name: _percentile(classes, share) for name, share in _SHARES.items()}


def rules_of(counted: Summary) -> list[dict[str, object]]:
    """Return the rules, each once however often it was renamed, under its most frequent name."""
    rules: dict[int, dict[str, Any]] = {}
    for key, number in counted.top():
        rule_id, name = rule_of(key)
        rules.setdefault(rule_id, {"id": rule_id, "name": name, "count": 0})["count"] += number
    return sorted(rules.values(), key=lambda item: (-item["count"], item["id"]))


def dropped(window: Window) -> int:
    """Return how many records of the window could not be kept in a spool."""
    gaps = LogGap.objects.filter(kind=GapKind.DROPPED, at__gte=window.start, at__lt=window.end)
    return gaps.aggregate(total=Sum("count"))["total"] or 0


def _percentile(classes: dict[int, int], share: float) -> int | None:
    wanted, seen = share * sum(classes.values()), 0
    for bound in sorted(classes):
        seen += classes[bound]
        if seen >= wanted:
            return bound
    return None


def _number_of_bars(window: Window, seconds: int) -> int:
    return (int(window.end.timestamp()) - 1) // seconds - int(window.start.timestamp()) // seconds + 1


def _widest_in(seconds: int) -> int:
    """Return the width of the widest spans that an interval is whole spans of."""
    return max(width for width in KEYS if seconds % width == 0)


def _spans(window: Window, kinds: Collection[str], widest: int) -> QuerySet[SpanCount]:
    """Return the fewest spans, none wider than ``widest``, that are the window together."""
    chosen = Q(pk__in=[])
    widths = sorted((width for width in KEYS if width <= widest), reverse=True)
    for width, start, end in _cover(int(window.start.timestamp()), int(window.end.timestamp()), widths):
        chosen |= Q(kind__in=kinds, width=width, start__gte=_moment(start), start__lt=_moment(end))
    return SpanCount.objects.filter(chosen)


def _cover(start: int, end: int, widths: list[int]) -> Iterator[tuple[int, int, int]]:
    """Yield ranges of spans: the widest in the middle, finer ones at both edges."""
    width, *finer = widths
    first, last = -start_of(-start, width), start_of(end, width)
    if first >= last:
        yield from _cover(start, end, finer) if finer else ()
        return
    yield width, first, last
    if finer:
        yield from _cover(start, first, finer)
        yield from _cover(last, end, finer)


def _moment(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
