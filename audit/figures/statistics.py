"""Statistics of the access log, read from roll-ups only: the cost does not depend on the number of rows."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.db.models import Q, QuerySet, Sum

from audit.counting.counts import DAY, EVER, HOUR, KEYS, MINUTE, TEN_MINUTES, rule_of, start_of
from audit.counting.merging import merge
from audit.counting.summaries import Summary
from audit.models import GapKind, LogGap, SpanCount
from audit.querying.field_filters import FilterRefused

MAX_BARS = 1_500
MAX_WINDOW = timedelta(days=366)
_MAX_TIMELINE = {MINUTE: timedelta(days=2), TEN_MINUTES: timedelta(days=8), HOUR: timedelta(days=62), DAY: MAX_WINDOW}
"""Maximum length of a timeline with bars of this span width."""
_ROUNDING = timedelta(minutes=1)
"""Tolerance for rounding a window to whole minutes."""
_FIRST_YEAR, _LAST_YEAR = 1971, 9998
_SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


@dataclass(frozen=True, slots=True)
class Window:
    """A time range in whole minutes."""

    start: datetime
    end: datetime

    @classmethod
    def of(cls, start: datetime, end: datetime) -> "Window":
        """Return the smallest window of whole minutes that contains these times. Raises FilterRefused."""
        if start >= end:
            raise FilterRefused("start_time", "must be before the end")
        if end - start > MAX_WINDOW:
            raise FilterRefused("start_time", f"at most {MAX_WINDOW.days} days before the end")
        if not _FIRST_YEAR <= start.year <= end.year <= _LAST_YEAR:
            raise FilterRefused("start_time", f"must be in the years {_FIRST_YEAR} to {_LAST_YEAR}")
        return cls(_moment(start_of(start.timestamp(), MINUTE)), _moment(-start_of(-end.timestamp(), MINUTE)))

    @classmethod
    def until(cls, end: datetime, length: timedelta) -> "Window":
        """Return the window of this length that ends with the minute of ``end``."""
        last = _moment(-start_of(-end.timestamp(), MINUTE))
        return cls(last - length, last)


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of a timeline, which starts at ``at``; ``would_refuse``: refused by the WAF, but for its monitor mode."""

    at: datetime
    outcomes: Summary
    would_refuse: Summary


def summaries(window: Window, kinds: Collection[str]) -> dict[str, Summary]:
    """Return the counts of the window by kind, in one query."""
    found = {kind: Summary() for kind in kinds}
    rows = _spans(window, kinds, DAY).order_by("kind", "width", "start")
    spans = rows.values_list("kind", "width", "counts", "error")
    for (kind, _), run in groupby(spans, key=itemgetter(0, 1)):
        found[kind].add(merge([(text, error) for _, _, text, error in run]))
    return found


def ever(kinds: Collection[str]) -> dict[str, Summary]:
    """Return the lifetime counts by kind, for kinds that have such counts."""
    found = {kind: Summary() for kind in kinds}
    rows = SpanCount.objects.filter(kind__in=kinds, width=EVER)
    for kind, text, error in rows.values_list("kind", "counts", "error"):
        found[kind].add_text(text, error)
    return found


def require_timeline(window: Window, interval: timedelta) -> None:
    """Raise FilterRefused unless the window has statistics in bars of this length."""
    seconds = int(interval.total_seconds())
    if seconds % MINUTE:
        raise FilterRefused("interval", f"a multiple of {MINUTE} seconds")
    width = _widest_in(seconds)
    if window.end - window.start > _MAX_TIMELINE[width] + _ROUNDING:
        raise FilterRefused("interval", f"only for windows of at most {_MAX_TIMELINE[width].days} days")
    if number_of_bars(window, seconds) > MAX_BARS:
        raise FilterRefused("interval", f"the window would have more than {MAX_BARS} bars: choose a longer interval")


def timeline(window: Window, interval: timedelta, kinds: Collection[str] = ("outcome", "would-refuse")) -> list[Bar]:
    """Return the outcomes by interval, including empty intervals; ``kinds``: the kinds to read. Raises FilterRefused.

    Bars start at multiples of the interval since the epoch; the first starts with the window.
    """
    require_timeline(window, interval)
    seconds = int(interval.total_seconds())
    first, start = int(window.start.timestamp()) // seconds, window.start
    bars = [
        Bar(max(start, _moment((first + number) * seconds)), Summary(), Summary())
        for number in range(number_of_bars(window, seconds))
    ]
    spans = _spans(window, kinds, _widest_in(seconds))
    for kind, moment, text in spans.values_list("kind", "start", "counts"):
        bar = bars[int(moment.timestamp()) // seconds - first]
        (bar.outcomes if kind == "outcome" else bar.would_refuse).add_text(text, 0)
    return bars


def percentiles(latency: Summary) -> dict[str, int | None]:
    """Return median, 95th and 99th percentile in microseconds, at most 10 % too long; None without requests."""
    classes = {int(key): number for key, number in latency.counts.items()}
    return {name: _percentile(classes, share) for name, share in _SHARES.items()}


def rules_of(counted: Summary) -> list[dict[str, object]]:
    """Return the counts of WAF rules by id; a renamed rule has its most frequent name."""
    rules: dict[int, dict[str, Any]] = {}
    for key, number in counted.top():
        rule_id, name = rule_of(key)
        rules.setdefault(rule_id, {"id": rule_id, "name": name, "count": 0})["count"] += number
    return sorted(rules.values(), key=lambda item: (-item["count"], item["id"]))


def dropped(window: Window) -> int:
    """Return the number of records of the window that could not be spooled."""
    gaps = LogGap.objects.filter(kind=GapKind.DROPPED, at__gte=window.start, at__lt=window.end)
    return gaps.aggregate(total=Sum("count"))["total"] or 0


def _percentile(classes: dict[int, int], share: float) -> int | None:
    wanted, seen = share * sum(classes.values()), 0
    for bound in sorted(classes):
        seen += classes[bound]
        if seen >= wanted:
            return bound
    return None


def number_of_bars(window: Window, seconds: int) -> int:
    """Return the number of bars of a timeline; the first and the last may be partly outside of the window."""
    return (int(window.end.timestamp()) - 1) // seconds - int(window.start.timestamp()) // seconds + 1


def _widest_in(seconds: int) -> int:
    """Return the width of the widest span that divides the interval."""
    return max(width for width in KEYS if seconds % width == 0)


def _spans(window: Window, kinds: Collection[str], widest: int) -> QuerySet[SpanCount]:
    """Return the fewest spans, at most ``widest`` wide, that cover the window."""
    chosen = Q(pk__in=[])
    widths = sorted((width for width in KEYS if width <= widest), reverse=True)
    for width, start, end in _cover(int(window.start.timestamp()), int(window.end.timestamp()), widths):
        chosen |= Q(kind__in=kinds, width=width, start__gte=_moment(start), start__lt=_moment(end))
    return SpanCount.objects.filter(chosen)


def _cover(start: int, end: int, widths: list[int]) -> Iterator[tuple[int, int, int]]:
    """Yield ranges of spans: the widest in the middle, narrower ones at both edges."""
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
