"""Summaries of the most frequent keys: exact while there is room, otherwise within their error."""

import random
from collections import Counter

import pytest

from audit.counting.counts import (
    DAY,
    EVER,
    EXACT,
    HOUR,
    KEYS,
    KINDS,
    MINUTE,
    TEN_MINUTES,
    counted,
    latency_class,
    rule_key,
    rule_of,
    start_of,
)
from audit.counting.summaries import Summary
from tests.support.cast import NOW
from tests.support.records import a_record


def summed_up(stream, keys, *, pieces=7):
    """Return the summary of a stream in pieces, cut after each piece."""
    summary = Summary()
    for first in range(0, len(stream), pieces):
        summary.add(Summary(Counter(stream[first : first + pieces])))
        summary.cut(keys)
    return summary


def skewed(seed, length=2000, keys=60):
    numbers = random.Random(seed)  # noqa: S311 - examples, no secrets
    return [f"k{int(keys * numbers.random() ** 3)}" for _ in range(length)]


def holds(summary, stream):
    """Return whether no count is too high, or too low by more than the error; missing keys count as zero."""
    return all(0 <= number - summary.counts[key] <= summary.error for key, number in Counter(stream).items())


def test_a_summary_with_room_is_exact():
    stream = skewed(1)

    summary = summed_up(stream, 60)

    assert (summary.counts, summary.error) == (Counter(stream), 0)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("keys", [1, 2, 5, 20, 59])
def test_a_count_is_never_too_high_and_too_low_by_the_error_at_most(seed, keys):
    stream = skewed(seed)

    summary = summed_up(stream, keys, pieces=1 + seed)

    assert holds(summary, stream)
    assert len(summary.counts) <= keys
    assert summary.error * (keys + 1) <= len(stream)


@pytest.mark.parametrize("seed", range(10))
def test_the_error_of_summaries_that_are_put_together_is_theirs_together(seed):
    streams = [skewed(seed), skewed(seed + 100, keys=200), skewed(seed + 200, length=50)]
    parts = [summed_up(stream, 10) for stream in streams]

    whole = Summary()
    for part in parts:
        whole.add(part)

    assert whole.error == sum(part.error for part in parts)
    assert holds(whole, [key for stream in streams for key in stream])


def test_a_frequent_key_that_comes_last_is_found():
    stream = [f"scanner-{number}" for number in range(5000)] + ["attacker"] * 500

    assert summed_up(stream, 100).top(1)[0][0] == "attacker"


def test_the_most_frequent_come_first_and_equal_ones_by_name():
    summary = Summary(Counter({"b": 2, "a": 2, "c": 3, "d": 1}))

    assert summary.top(3) == [("c", 3), ("a", 2), ("b", 2)]


@pytest.mark.parametrize("key", ["", "(other)", '"\\', "\0", "\ud800", "é漢", "x" * 255])
def test_every_key_survives_being_written(key):
    summary = Summary(Counter({key: 3}), 2)

    text = summary.to_text()

    assert Summary.from_text(text, 2) == summary
    assert text.isascii()
    assert "\0" not in text


@pytest.mark.parametrize(
    ("microseconds", "shown"),
    [(0, 0), (7, 7), (99, 99), (100, 100), (101, 110), (999, 1000), (1000, 1000), (1001, 1100), (10**9, 60_000_000)],
)
def test_a_latency_is_rounded_up_to_two_digits(microseconds, shown):
    assert latency_class(microseconds) == shown


def test_a_latency_is_at_most_a_tenth_too_long():
    for microseconds in range(1, 200_000, 37):
        assert microseconds <= latency_class(microseconds) <= microseconds * 1.1


def test_an_answer_is_counted_in_one_span_of_each_width():
    ((spans),) = counted([a_record(at=NOW + 59.9, waf_score=5, would_refuse=True)]).portions(10)

    places = {(width, start) for _kind, width, start in spans}

    widths = (MINUTE, TEN_MINUTES, HOUR, DAY)
    assert places == {*((width, start_of(NOW + 59.9, width)) for width in widths), (EVER, 0)}
    assert {kind for kind, _width, _start in spans} == KINDS
    assert {kind for kind, width, _start in spans if width == EVER} == {"reason", "latency"}


def test_portions_of_a_large_batch_add_up_to_the_whole():
    counts = counted(a_record(n, at=NOW + 60 * n) for n in range(25))

    portions = list(counts.portions(10))

    total = Counter()
    for portion in portions:
        for (kind, width, _start), summary in portion.items():
            total[kind, width] += summary.total
    assert len(portions) == 3
    assert {total["outcome", width] for width in KEYS} == {25}


def test_only_keys_that_visitors_cannot_vary_are_counted_without_bound():
    assert {"client", "denied-client", "host", "path", "would-client", "would-host"} == KINDS - EXACT


@pytest.mark.parametrize("name", ["attack", "two words", "", "7 8"])
def test_a_rule_is_found_in_its_key(name):
    assert rule_of(rule_key(12, name)) == (12, name)
