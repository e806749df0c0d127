"""Heavy hitters: counts of the most frequent keys in bounded memory (Misra-Gries). Pure.

Mergeable (Agarwal et al., Mergeable Summaries, 2012), and exact as long as all keys fit. Otherwise counts are never too
high, and too low by at most ``error``, which is at most 1/(n+1) of the total in a summary of n keys. Every key whose
count is higher than ``error`` is included.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from heapq import nsmallest

import orjson


@dataclass(slots=True)
class Summary:
    """Counts of the most frequent keys; a missing key occurred at most ``error`` times."""

    counts: Counter[str] = field(default_factory=Counter)
    error: int = 0

    def add(self, other: "Summary") -> None:
        """Merge another summary."""
        self._add(other.counts, other.error)

    def add_text(self, text: str, error: int) -> None:
        """Merge a summary from ``to_text()`` with its error."""
        self._add(_loads(text), error)

    def cut(self, keys: int) -> None:
        """Reduce to the most frequent keys; subtract the largest dropped count from all (Misra-Gries)."""
        if len(self.counts) <= keys:
            return
        taken_off = sorted(self.counts.values(), reverse=True)[keys]
        self.counts = Counter({key: number - taken_off for key, number in self.counts.items() if number > taken_off})
        self.error += taken_off

    @property
    def total(self) -> int:
        """Return the total; a lower bound if there is an error."""
        return self.counts.total()

    def top(self, number: int | None = None) -> list[tuple[str, int]]:
        """Return the most frequent keys with their counts; ties are ordered by name."""
        items, order = self.counts.items(), _most_first
        return sorted(items, key=order) if number is None else nsmallest(number, items, key=order)

    def to_text(self) -> str:
        """Return the counts as ASCII JSON, because databases reject some keys as text."""
        try:
            data = orjson.dumps(self.counts)
        except orjson.JSONEncodeError:  # a lone surrogate
            data = b"\xff"
        return data.decode() if data.isascii() else json.dumps(self.counts, separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str, error: int) -> "Summary":
        summary = cls()
        summary.add_text(text, error)
        return summary

    def _add(self, counts: Mapping[str, int], error: int) -> None:
        """Add counts as Counter.update does, without its checks: a month is merged from 1,400 summaries."""
        mine = self.counts
        if mine:
            get = mine.get
            for key, number in counts.items():
                mine[key] = get(key, 0) + number
        else:
            dict.update(mine, counts)
        self.error += error


def _loads(text: str) -> dict[str, int]:
    counts: dict[str, int]
    try:
        counts = orjson.loads(text)
    except orjson.JSONDecodeError:  # a lone surrogate
        counts = json.loads(text)
    return counts


def _most_first(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]
