"""Histogram above the log: its chart, its table, and the query of each bar."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from audit.figures.histogram import Histogram, HistogramBar, histogram
from gatewall.console.log.log_query import MOMENTS, LogQuery
from gatewall.console.site import charts, links
from gatewall.console.site.charts import Chart, Column, Series
from gatewall.engine.model import Effect

OUTCOMES = tuple(effect.value for effect in Effect)
_SPANS = (timedelta(hours=1), timedelta(hours=24), timedelta(days=7), timedelta(days=30))
_LABELS = ("1 h", "24 h", "7 d", "30 d")


@dataclass(frozen=True, slots=True)
class ShownBar:
    """A bar with its column of the chart, its outcomes in the order of ``OUTCOMES``, and the query for its rows."""

    bar: HistogramBar
    column: Column
    counts: list[int]
    query: str


@dataclass(frozen=True, slots=True)
class ShownHistogram:
    """The histogram for the template; ``spans``: label and query of each usual window."""

    histogram: Histogram
    chart: Chart
    bars: list[ShownBar]
    spans: list[tuple[str, str]]


def shown_histogram(log_query: LogQuery, now: datetime) -> ShownHistogram | None:
    """Return the histogram of a query, None for one decision and for a window that is too long."""
    parameters = [(name, value) for name, value in log_query.chosen if name not in MOMENTS]
    if any(name == "decision_id" for name, _value in parameters):
        return None
    found = histogram(parameters, log_query.filters, log_query.start, log_query.end, now)
    if found is None:
        return None
    labels = [_label(bar) for bar in found.bars]
    series = [Series(kind, [bar.counts.get(kind, 0) for bar in found.bars]) for kind in OUTCOMES]
    chart = charts.strip(labels, series)
    bars = [
        ShownBar(bar, column, [bar.counts.get(kind, 0) for kind in OUTCOMES], _within(log_query, bar.at, bar.end))
        for bar, column in zip(found.bars, chart.columns, strict=True)
    ]
    spans = [(label, _within(log_query, now - span, None)) for label, span in zip(_LABELS, _SPANS, strict=True)]
    return ShownHistogram(found, chart, bars, spans)


def _within(log_query: LogQuery, start: datetime, end: datetime | None) -> str:
    return log_query.changed(start_time=links.moment(start), end_time=links.moment(end) if end else None)


def _label(bar: HistogramBar) -> str:
    words = {"from": f"{bar.at:%m-%d %H:%M}", "until": f"{bar.end:%H:%M}", "number": f"{bar.total:,}"}
    if bar.is_complete:
        return _("%(from)s to %(until)s: %(number)s") % words
    return _("%(from)s to %(until)s: at least %(number)s") % words
