"""Histogram of the access log: outcomes of the matching rows by interval, at bounded cost.

Without filters, or with filters by outcome alone, it is exact and read from the roll-ups. With others, the newest
matching rows are counted within a budget, and bars before them are marked as incomplete.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from django.db.models import Q

from audit.figures import statistics
from audit.figures.statistics import MAX_WINDOW, Window
from audit.log import query
from audit.querying.field_filters import EXCLUDE, FilterRefused, Filters
from gatewall.engine.model import Effect

SPAN = timedelta(hours=24)
"""Length of the window when the filters have no start."""
MOST_BARS = 62
_INTERVALS = (60, 300, 600, 1800, 3600, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800)
_COUNTED = frozenset({"outcome", f"{EXCLUDE}outcome"})
"""Filters that the roll-ups can answer."""


@dataclass(frozen=True, slots=True)
class HistogramBar:
    """Outcomes of the matching rows from ``at`` to ``end``; a lower bound unless ``is_complete``."""

    at: datetime
    end: datetime
    counts: Mapping[str, int]
    is_complete: bool

    @property
    def total(self) -> int:
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True)
class Histogram:
    """The bars of a window, oldest first."""

    window: Window
    interval: timedelta
    bars: Sequence[HistogramBar]

    @property
    def is_complete(self) -> bool:
        return all(bar.is_complete for bar in self.bars)


def histogram(
    parameters: Iterable[tuple[str, str]], filters: Filters, start: datetime | None, end: datetime | None, now: datetime
) -> Histogram | None:
    """Return the histogram of these filters up to ``end``, else ``now``; None for an impossible window."""
    window = _window(start, end or now)
    if window is None:
        return None
    interval = timedelta(seconds=next(each for each in _INTERVALS if _number(window, each) <= MOST_BARS))
    values = dict(parameters)
    if values.keys() <= _COUNTED:
        bars = statistics.timeline(window, interval, ["outcome"])
        found = [_chosen(bar.outcomes.counts, values) for bar in bars]
        return Histogram(window, interval, _bars([bar.at for bar in bars], window.end, found, None))
    return _scanned(filters, window, interval)


def _window(start: datetime | None, end: datetime) -> Window | None:
    try:
        earliest = max(start or end - SPAN, end - MAX_WINDOW + timedelta(minutes=2))
        return Window.of(earliest, end)
    except (FilterRefused, OverflowError):
        return None


def _number(window: Window, seconds: int) -> int:
    return statistics.number_of_bars(window, seconds)


def _chosen(counts: Mapping[str, int], values: Mapping[str, str]) -> dict[str, int]:
    """Return the counts of the outcomes that match the filters."""
    only, never = values.get("outcome"), values.get(f"{EXCLUDE}outcome")
    kept = [effect.value for effect in Effect if only in {None, effect.value} and effect.value != never]
    return {kind: counts.get(kind, 0) for kind in kept}


def _scanned(filters: Filters, window: Window, interval: timedelta) -> Histogram:
    seconds = int(interval.total_seconds())
    first, number = int(window.start.timestamp()) // seconds, _number(window, seconds)
    counts = [Counter[str]() for _ in range(number)]
    within = Q(at__gte=window.start, at__lt=window.end)
    rows, since = query.outcomes_of(replace(filters, moments=filters.moments & within))
    for at, outcome in rows:
        counts[int(at.timestamp()) // seconds - first][outcome] += 1
    starts = [datetime.fromtimestamp((first + each) * seconds, UTC) for each in range(number)]
    return Histogram(window, interval, _bars([max(window.start, at) for at in starts], window.end, counts, since))


def _bars(
    starts: Sequence[datetime], end: datetime, counts: Sequence[Mapping[str, int]], since: datetime | None
) -> list[HistogramBar]:
    ends = [*starts[1:], end]
    return [
        HistogramBar(at, until, each, since is None or at > since)
        for at, until, each in zip(starts, ends, counts, strict=True)
    ]
