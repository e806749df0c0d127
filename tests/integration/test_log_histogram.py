"""The histogram of the log: exact from the roll-ups, bounded where rows must be scanned."""

import random
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from audit.figures.histogram import histogram
from audit.log import query
from audit.log.filters import filters_of
from tests.support.cast import NOW
from tests.support.records import a_record
from tests.support.spool_shipping import shipped

pytestmark = pytest.mark.django_db
END = datetime.fromtimestamp(NOW, UTC)
RULES = [{"id": 7, "name": "attack", "action": "block"}]


@pytest.fixture
def records(tmp_path):
    numbers = random.Random(3)  # noqa: S311 - examples, no secrets
    made = [
        a_record(
            number,
            at=NOW - numbers.random() * 80_000,
            outcome=numbers.choice(["allow", "deny"]),
            path=f"/{number % 3}",
            rules=RULES if number % 2 else [],
        )
        for number in range(200)
    ]
    shipped(tmp_path / "spool", made)
    return made


def of(**parameters):
    filters = filters_of(parameters.items(), start=None, end=None)
    return histogram(parameters.items(), filters, None, None, END)


def counts(found):
    return sum((Counter(bar.counts) for bar in found.bars), Counter())


@pytest.mark.parametrize(
    ("parameters", "matches"),
    [
        ({}, bool),
        ({"outcome": "deny"}, lambda record: record.outcome == "deny"),
        ({"exclude_outcome": "deny"}, lambda record: record.outcome != "deny"),
        ({"path": "/1"}, lambda record: record.path == "/1"),
        ({"rule_id": "7", "path": "/1"}, lambda record: record.rules and record.path == "/1"),
    ],
    ids=["all", "outcome", "not-outcome", "path", "rule"],
)
def test_each_bar_counts_its_matching_rows(records, parameters, matches):
    found = of(**parameters)

    assert found.is_complete
    assert found.interval == timedelta(minutes=30)
    for bar in found.bars:
        inside = [record for record in records if bar.at.timestamp() <= record.at < bar.end.timestamp()]
        expected = Counter(record.outcome for record in inside if matches(record))
        assert {kind: number for kind, number in bar.counts.items() if number} == expected


@pytest.mark.parametrize("bound", ["OUTCOME_SCAN", "MOST_OUTCOMES", "QUICK_BUDGET"])
def test_within_its_budget_the_newest_bars_are_exact_and_older_ones_are_marked(records, monkeypatch, bound):
    parameters = {"rule_id": "7"} if bound == "QUICK_BUDGET" else {"path": "/*"}
    whole = of(**parameters)
    monkeypatch.setattr(query, bound, 50)
    found = of(**parameters)

    assert not found.is_complete
    assert 40 <= counts(found).total() <= 50
    assert [bar.counts for bar in found.bars if bar.is_complete] == [
        whole.bars[number].counts for number, bar in enumerate(found.bars) if bar.is_complete
    ]
    flags = [bar.is_complete for bar in found.bars]
    assert flags == sorted(flags)
    assert 3 < sum(flags) < 40


@pytest.mark.parametrize(("parameters", "walks"), [({"client_ip": "203.0.113.9"}, 1), ({"path": "/*"}, 2)])
def test_rows_that_an_index_selects_are_walked_once(records, parameters, walks, django_assert_num_queries):
    filters = filters_of(parameters.items(), start=None, end=None)
    with django_assert_num_queries(walks):
        query.outcomes_of(filters)
