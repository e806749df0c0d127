"""Statistics of the access log: number of queries, bounds, and pruning."""

from datetime import UTC, datetime, timedelta

import pytest

from audit.counting.counts import DAY, HOUR, KEYS, MINUTE, TEN_MINUTES
from audit.figures import rollups, statistics
from audit.figures.statistics import Window
from audit.models import LogGap, SpanCount
from audit.querying.field_filters import FilterRefused
from tests.support.records import a_record
from tests.support.spool_shipping import shipped

pytestmark = pytest.mark.django_db

MIDNIGHT = datetime(2026, 3, 15, tzinfo=UTC)
EXACT = ("outcome", "reason", "deny-reason", "status", "country", "latency", "rule")


@pytest.fixture
def ship(tmp_path):
    """Return a function that ships records."""

    def ship(records):
        shipped(tmp_path, records)

    return ship


@pytest.mark.parametrize("length", [timedelta(hours=24), timedelta(days=2, minutes=-7), timedelta(days=366)])
def test_figures_cost_one_query_whatever_the_window(ship, django_assert_num_queries, length):
    ship([a_record(n, at=(MIDNIGHT + timedelta(minutes=13 * n)).timestamp()) for n in range(200)])
    window = Window.of(MIDNIGHT + timedelta(minutes=7), MIDNIGHT + timedelta(minutes=7) + length)

    with django_assert_num_queries(1):
        statistics.summaries(window, EXACT)
    with django_assert_num_queries(1):
        statistics.timeline(window, timedelta(days=1))


@pytest.mark.parametrize("hours", range(0, 49, 16))
def test_a_window_is_composed_of_few_spans(hours):
    start = MIDNIGHT + timedelta(hours=hours, minutes=23)
    SpanCount.objects.bulk_create(
        SpanCount(kind="outcome", width=width, start=MIDNIGHT + timedelta(seconds=at), counts='{"allow":1}', error=0)
        for width in KEYS
        for at in range(0, 5 * DAY, width)
    )

    spans = statistics.summaries(Window(start, start + timedelta(hours=24)), ["outcome"])["outcome"].total

    assert spans <= 10 + 5 + 23


def test_median_and_percentiles_are_those_of_the_rows(ship):
    ship([a_record(n, at=MIDNIGHT.timestamp(), latency_us=n + 1) for n in range(200)])
    window = Window.of(MIDNIGHT, MIDNIGHT + timedelta(minutes=1))

    shown = statistics.percentiles(statistics.summaries(window, ["latency"])["latency"])

    assert shown == {"p50": 100, "p95": 190, "p99": 200}


def test_without_answers_percentiles_are_none():
    assert set(statistics.percentiles(statistics.Summary()).values()) == {None}


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (MIDNIGHT, MIDNIGHT),
        (MIDNIGHT + timedelta(minutes=1), MIDNIGHT),
        (MIDNIGHT, MIDNIGHT + timedelta(days=367)),
        (datetime(1000, 1, 1, tzinfo=UTC), datetime(1000, 1, 2, tzinfo=UTC)),
        (datetime(9999, 12, 31, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)),
    ],
)
def test_an_invalid_window_is_refused(start, end):
    with pytest.raises(FilterRefused) as refused:
        Window.of(start, end)

    assert refused.value.field == "start_time"


@pytest.mark.parametrize(
    ("seconds", "length", "is_shown"),
    [
        (61, timedelta(hours=1), False),
        (60, timedelta(hours=24), True),
        (60, timedelta(hours=25, minutes=1), False),
        (120, timedelta(days=2), True),
        (900, timedelta(days=2, minutes=2), False),
        (1800, timedelta(days=8), True),
        (1800, timedelta(days=8, minutes=2), False),
        (3600, timedelta(days=62), True),
        (3600, timedelta(days=63), False),
        (5 * 3600, timedelta(days=63), False),
        (86400, timedelta(days=366), True),
    ],
)
def test_a_timeline_is_bounded(seconds, length, is_shown):
    window = Window.of(MIDNIGHT + timedelta(seconds=30), MIDNIGHT + timedelta(seconds=30) + length)

    if not is_shown:
        with pytest.raises(FilterRefused) as refused:
            statistics.timeline(window, timedelta(seconds=seconds))
        assert refused.value.field == "interval"
    else:
        assert len(statistics.timeline(window, timedelta(seconds=seconds))) <= statistics.MAX_BARS


def test_counts_are_pruned_when_their_span_is_past(ship):
    ship([a_record(n, at=(MIDNIGHT + timedelta(minutes=n)).timestamp()) for n in range(0, 3000, 10)])
    before = MIDNIGHT + timedelta(hours=5, minutes=20)

    rollups.prune(before)

    firsts = {width: SpanCount.objects.filter(width=width).order_by("start")[0].start for width in KEYS}
    assert firsts == {MINUTE: before, TEN_MINUTES: before, HOUR: MIDNIGHT + timedelta(hours=5), DAY: MIDNIGHT}


def test_dropped_records_are_counted():
    for hours, kind, count in ((1, "dropped", 3), (2, "dropped", 4), (2, "damaged", 9), (30, "dropped", 5)):
        LogGap.objects.create(node="n", kind=kind, count=count, at=MIDNIGHT + timedelta(hours=hours))

    assert statistics.dropped(Window.of(MIDNIGHT, MIDNIGHT + timedelta(hours=24))) == 7
    assert statistics.dropped(Window.of(MIDNIGHT + timedelta(days=9), MIDNIGHT + timedelta(days=10))) == 0
