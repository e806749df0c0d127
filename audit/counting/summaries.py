"""How often each of the most frequent keys occurred, in bounded memory. Pure.

The summary of Misra and Gries, which is mergeable (Agarwal et al., Mergeable Summaries, 2012): it is
exact while there are no more keys than it holds. Where there are more, no count is ever too high, and
none is too low by more than ``error``, which is at most one (n+1)th of all that was counted in a
summary of n keys. So a key that came more often than that is in it, whenever it came first.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class Summary:
    """The counts of the most frequent keys; a key that is not there came at most ``error`` times."""

    counts: Counter[str] = field(default_factory=Counter)
    error: int = 0

    def add(self, other: "Summary") -> None:
        """Add what another summary counted."""
        self._add(other.counts, other.error)

    def add_text(self, text: str, error: int) -> None:
        """Add what ``to_text`` wrote of a summary with this error."""
        self._add(json.loads(text), error)

    def cut(self, keys: int) -> None:
        """Hold no more than so many keys: what the first that has no room counts is taken off all of them."""
        if len(self.counts) <= keys:
            return
        taken_off = sorted(self.counts.values(), reverse=True)[keys]
        self.counts = Counter({key: number - taken_off for key, number in self.counts.items() if number > taken_off})
        self.error += taken_off

    @property
    def total(self) -> int:
        """Return how much was counted; too low if there is an error."""
        return self.counts.total()

    def top(self, number: int | None = None) -> list[tuple[str, int]]:
        """Return the most frequent keys, the first ones by name where they are equal."""
        ordered = sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))
        return ordered[:number]

    def to_text(self) -> str:
        """Return the counts as JSON, ASCII only: a key may be what no database takes for text."""
        return json.dumps(self.counts, separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str, error: int) -> "Summary":
        """Return the summary of what ``to_text`` wrote."""
        summary = cls()
        summary.add_text(text, error)
        return summary

    def _add(self, counts: Mapping[str, int], error: int) -> None:
        """Do what Counter.update does, without its checks: figures of a month are put together from 1,400 summaries."""
        mine = self.counts
        if mine:
            get = mine.get
            for key, number in counts.items():
                mine[key] = get(key, 0) + number
        else:
            dict.update(mine, counts)
        self.error += error
