"""How often each of the most frequent keys occurred, in bounded memory. Pure.

The summary of Misra and Gries, which is mergeable (Agarwal et al., Mergeable Summaries, 2012): it is
exact while there are no more keys than it holds. Where there are more, no count is ever too high, and
none is too low by more than ``error``, which is at most one (n+1)th of all that was counted in a
summary of n keys. So a key that came more often than that is in it, whenever it came first.
"""

import json
from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Summary:
    """The counts of the most frequent keys; a key that is not there came at most ``error`` times."""

    counts: Counter[str] = field(default_factory=Counter)
    error: int = 0

    def add(self, other: "Summary") -> None:
        """Add what another summary counted."""
        self.counts.update(other.counts)
        self.error += other.error

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
        counts: Counter[str] = Counter()
        dict.update(counts, json.loads(text))  # Counter's own would look at each key
        return cls(counts, error)
