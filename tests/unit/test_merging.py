"""Cached merges of summaries equal new merges."""

import random

import pytest

from audit.counting import merging
from audit.counting.merging import merge
from audit.counting.summaries import Summary


@pytest.fixture(autouse=True)
def _nothing_is_remembered():
    merging._remembered.cache_clear()


def parts_of(seed, *, number=5, keys=40):
    chance = random.Random(seed)  # noqa: S311 - examples, no secrets
    return [
        (Summary.from_text("{}", 0).to_text() if each == 0 else _text(chance, keys), chance.randrange(9))
        for each in range(number)
    ]


def _text(chance, keys):
    summary = Summary()
    for _ in range(keys):
        summary.counts[f"key{chance.randrange(60)}"] += chance.randrange(1, 100)
    return summary.to_text()


def added_up(parts):
    summary = Summary()
    for text, error in parts:
        summary.add_text(text, error)
    return summary


@pytest.mark.parametrize("seed", range(10))
def test_merging_gives_the_sum_of_all_parts_each_time(seed):
    parts = parts_of(seed)

    assert merge(parts) == merge(list(parts)) == added_up(parts)


def test_equal_parts_are_merged_once(monkeypatch):
    parts, read = parts_of(1), []
    monkeypatch.setattr(merging, "_added_up", lambda parts: read.append(len(parts)) or added_up(parts))

    assert [merge(parts) for _ in range(3)] == [added_up(parts)] * 3
    assert read == [5]


@pytest.mark.parametrize("change", ["a count", "an error", "one more", "a border"])
def test_different_parts_are_merged_again(change):
    parts = [('{"a":1}', 0), ('{"b":2}', 3)]
    merge(parts)
    other = {
        "a count": [('{"a":2}', 0), ('{"b":2}', 3)],
        "an error": [('{"a":1}', 0), ('{"b":2}', 4)],
        "one more": [*parts, ('{"a":1}', 0)],
        "a border": [('{"a":1}', 3), ('{"b":2}', 0)],
    }[change]

    assert merge(other) == added_up(other)


def test_adding_to_a_merged_summary_does_not_change_the_cache():
    parts = parts_of(2)
    mine = Summary()
    mine.add(merge(parts))
    mine.add(merge(parts))

    assert merge(parts) == added_up(parts)
    assert mine.total == 2 * added_up(parts).total


def test_the_cache_holds_no_texts_and_no_very_long_summaries():
    parts = parts_of(3)
    merge(parts)
    key = merging._Run(b"", parts)
    merging._remembered(key)
    assert key.parts == ()

    before = merging._remembered.cache_info().currsize
    merge([(_text(random.Random(4), 20) + " " * merging._MAX_CHARACTERS, 0)] * 2)  # noqa: S311 - as above
    assert merging._remembered.cache_info().currsize == before
