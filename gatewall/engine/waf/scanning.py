"""Finds many patterns in one text at once: the port of the multi-pattern engine, and its stand-in. No I/O."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from gatewall.engine.waf.patterns import compile_line_search

Hit = tuple[int, int]
"""The number of a pattern and the position in the text at which a match of it ends."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A pattern to look for, by the number of its place in the list."""

    pattern: bytes


class Scanner(Protocol):
    """Looks for a fixed list of patterns."""

    name: str

    def scan(self, text: bytes) -> list[Hit]:
        """Return one match of each pattern that has any, in no order."""


class OneByOne:
    """The stand-in: RE2, one pattern after the other. Linear as well, and about twenty times slower."""

    name = "re2"

    def __init__(self, patterns: Sequence[bytes]) -> None:
        """Raise PatternRefused if one of them is not RE2 syntax."""
        self._searches = [compile_line_search(pattern) for pattern in patterns]

    def scan(self, text: bytes) -> list[Hit]:
        return [(number, end) for number, ends in enumerate(self._searches) if (end := ends(text)) >= 0]
