"""Statistics of the access log, compared with plain counts over its rows."""

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from audit.counting.counts import DAY, HOUR, KEYS, MINUTE, TEN_MINUTES, latency_class
from audit.figures import rollups, statistics
from audit.figures.statistics import Window
from audit.models import AccessLog, SpanCount, UseCount
from audit.querying.field_filters import FilterRefused
from audit.spool.writer import SpoolWriter
from audit.storage import ingest
from tests.support.records import a_record

pytestmark = pytest.mark.django_db

MIDNIGHT = datetime(2026, 3, 15, tzinfo=UTC)
OUTCOMES = {"allow": 200, "challenge": 401, "deny": 403, "error": 503}
EXACT = ("outcome", "reason", "deny-reason", "status", "country", "latency", "rule")
OPEN_ENDED = ("client", "denied-client", "host", "path")
LIKE_THESE = (60, 300, 7200, 86400)


@pytest.fixture
def ship(tmp_path):
    """Return a function that ships records of two nodes in batches, each from a new spool."""

    def ship(records, *, batch=40):
        for number, first in enumerate(range(0, len(records), batch)):
            folder = tmp_path / f"node-{number % 2}"
            writer = SpoolWriter(folder, folder.name)
            for record in records[first : first + batch]:
                writer.write(record)
            writer.close()
            ingest.ship(folder)

    return ship


def made(seed, count=300, *, over=timedelta(days=3), clients=6):
    """Return records from before midnight to some days later, many of them near borders of hours and days."""
    numbers = random.Random(seed)  # noqa: S311 - examples, no secrets
    records = []
    for number in range(count):
        at = MIDNIGHT - timedelta(hours=2) + over * numbers.random()
        if numbers.random() < 0.5:  # at a border, or a microsecond before one
            at = at.replace(minute=0, second=0, microsecond=0) - timedelta(microseconds=numbers.randrange(2))
        outcome = numbers.choice(list(OUTCOMES))
        rules = [{"id": n, "name": f"rule {n}", "action": "block"} for n in range(3) if numbers.random() < 0.2]
        records.append(
            a_record(
                seed * 10_000 + number,
                at=at.timestamp(),
                outcome=outcome,
                status=OUTCOMES[outcome],
                reason=f"{outcome}-{numbers.randrange(3)}",
                country_code=numbers.choice(["NZ", "DE", None]),
                client_ip=f"203.0.113.{int(clients * numbers.random() ** 2)}",
                host=numbers.choice(["a.example", "b.example", None]),
                path=numbers.choice(["/", "/wiki", "/" + "x" * 300]),
                latency_us=numbers.randrange(100_000),
                rules=rules,
            )
        )
    return records


def rows_in(window, rows):
    return [row for row in rows if window.start <= row.at < window.end]


def plain_count(rows, kind):
    """Return the counts of a kind, counted over the rows."""
    counts = Counter()
    for row in rows:
        is_denied = row.outcome == "deny"
        counts.update(
            {
                "outcome": [row.outcome],
                "reason": [row.reason],
                "deny-reason": [row.reason] if is_denied else [],
                "status": [str(row.status)],
                "country": [row.country_code or ""],
                "latency": [str(latency_class(row.latency_us))],
                "rule": [f"{rule['id']} {rule['name']}" for rule in row.rules],
                "client": [row.client_ip],
                "denied-client": [row.client_ip] if is_denied else [],
                "host": [row.host] if row.host else [],
                "path": [row.path[:255]],
            }[kind]
        )
    return counts


def windows(seed, count=12):
    numbers = random.Random(seed)  # noqa: S311 - examples, no secrets
    for _ in range(count):
        start = MIDNIGHT + timedelta(minutes=numbers.randrange(-200, 4000), seconds=numbers.choice([0, 0, 1, 59.5]))
        yield Window.of(start, start + numbers.choice([timedelta(minutes=1), timedelta(hours=5), timedelta(days=2)]))
    yield Window.of(MIDNIGHT, MIDNIGHT + timedelta(days=1))
    yield Window.of(MIDNIGHT - timedelta(days=300), MIDNIGHT + timedelta(days=60))


@pytest.mark.parametrize("seed", range(3))
def test_figures_equal_a_plain_count_over_the_rows(ship, seed):
    ship(made(seed, 120), batch=2 + 37 * seed)
    rows = list(AccessLog.objects.all())

    for window in windows(seed):
        found = statistics.summaries(window, [*EXACT, *OPEN_ENDED])
        for kind, summary in found.items():
            assert summary.counts == plain_count(rows_in(window, rows), kind), (kind, window)
            assert summary.error == 0


# One of each length of span, and a week of days; bin/test --full asks for the multiples as well.
@pytest.mark.parametrize(
    "seconds", [420, 3600, 5400, 7 * 86400, *(pytest.param(more, marks=pytest.mark.full) for more in LIKE_THESE)]
)
def test_the_timeline_equals_a_plain_count_over_the_rows(ship, seconds):
    ship(made(7))
    rows, shown = list(AccessLog.objects.all()), 0
    interval = timedelta(seconds=seconds)

    for window in windows(seconds):
        try:
            bars = statistics.timeline(window, interval)
        except FilterRefused:
            continue
        shown += 1
        ends = [*(bar.at for bar in bars[1:]), window.end]
        assert bars[0].at == window.start
        for bar, end in zip(bars, ends, strict=True):
            assert timedelta() < end - bar.at <= interval
            assert bar.outcomes.counts == Counter(row.outcome for row in rows_in(Window(bar.at, end), rows))
    assert shown


@pytest.mark.parametrize("seed", range(2))
def test_summaries_with_more_keys_than_places_stay_within_their_error(ship, monkeypatch, seed):
    monkeypatch.setattr(rollups, "KEYS", {MINUTE: 3, TEN_MINUTES: 4, HOUR: 5, DAY: 8})
    ship(made(seed, 400, clients=40), batch=25)
    rows = list(AccessLog.objects.all())

    for window in windows(seed):
        found = statistics.summaries(window, ["client"])["client"]
        plain = plain_count(rows_in(window, rows), "client")
        assert all(0 <= number - found.counts[key] <= found.error for key, number in plain.items())
        assert found.error * 4 <= plain.total()
    assert statistics.summaries(Window.of(MIDNIGHT, MIDNIGHT + timedelta(days=1)), ["client"])["client"].error > 0
    assert max(len(span.counts) for span in _spans("client")) <= 8
    assert {span.error for span in _spans("reason")} == {0}


def _spans(kind):
    rows = SpanCount.objects.filter(kind=kind).values_list("counts", "error")
    return [statistics.Summary.from_text(*row) for row in rows]


def test_the_number_of_clients_in_a_span_is_limited(ship):
    ship([a_record(n, at=MIDNIGHT.timestamp(), client_ip=f"10.0.{n // 250}.{n % 250}") for n in range(1500)], batch=500)

    held = {
        row.width: len(statistics.Summary.from_text(row.counts, 0).counts)
        for row in SpanCount.objects.filter(kind="client")
    }
    found = statistics.summaries(Window.of(MIDNIGHT, MIDNIGHT + timedelta(minutes=1)), ["client", "outcome"])

    assert all(held[width] <= KEYS[width] for width in KEYS)
    assert 0 < found["client"].error <= 1500 / 101
    assert found["outcome"].total == 1500


def test_a_frequent_client_is_found_even_if_all_places_were_taken(ship):
    crowd = [a_record(n, at=MIDNIGHT.timestamp(), client_ip=f"10.0.{n // 250}.{n % 250}") for n in range(1000)]
    attack = [a_record(5000 + n, at=MIDNIGHT.timestamp(), client_ip="203.0.113.9") for n in range(100)]
    ship([*crowd, *attack], batch=200)

    found = statistics.summaries(Window.of(MIDNIGHT, MIDNIGHT + timedelta(minutes=1)), ["client"])["client"]

    ((client, number),) = found.top(1)
    assert client == "203.0.113.9"
    assert 100 - found.error <= number <= 100


def test_keys_with_characters_invalid_in_databases_are_counted(ship):
    ship([a_record(n, at=MIDNIGHT.timestamp(), path="/\0\ud83d\"\\'%s") for n in range(2)])

    found = statistics.summaries(Window.of(MIDNIGHT, MIDNIGHT + timedelta(minutes=1)), ["path"])["path"]

    assert found.top() == [("/\ufffd?\"\\'%s", 2)]


def test_a_batch_of_days_of_minutes_is_counted(ship):
    ship([a_record(n, at=(MIDNIGHT + timedelta(minutes=17 * n)).timestamp()) for n in range(350)], batch=350)

    window = Window.of(MIDNIGHT, MIDNIGHT + timedelta(days=10))

    assert statistics.summaries(window, ["outcome"])["outcome"].total == 350
    assert sum(bar.outcomes.total for bar in statistics.timeline(window, timedelta(hours=1))) == 350


@pytest.mark.django_db(transaction=True)
def test_concurrent_hosts_lose_no_counts(tmp_path):
    def host(number):
        folder = tmp_path / f"host-{number}"
        for batch in range(10):
            writer = SpoolWriter(folder, folder.name)
            for n in range(20):
                writer.write(a_record(number * 10_000 + batch * 100 + n, at=MIDNIGHT.timestamp()))
            writer.close()
            ingest.ship(folder)
        if connection.vendor == "postgresql":
            connection.close()

    if connection.vendor == "postgresql":
        with ThreadPoolExecutor(4) as hosts:
            list(hosts.map(host, range(4)))
    else:  # SQLite has one writer at a time, and all threads of a test share its database in memory
        for number in range(4):
            host(number)

    found = statistics.summaries(Window.of(MIDNIGHT, MIDNIGHT + timedelta(minutes=1)), ["outcome", "client"])
    assert (found["outcome"].total, found["client"].total) == (800, 800)
    assert UseCount.objects.get(kind="waf-rules").count == 800
