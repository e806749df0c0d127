"""Finds many patterns in one text at once: the port of the multi-pattern engine, and its stand-in. No I/O."""

from collections.abc import Callable, Sequence
from typing import Protocol

from gatewall.engine.waf.patterns import compile_line_search

Hit = tuple[int, int]
"""The number of a pattern and the position in the text at which a match of it ends."""


class Scanner(Protocol):
    """Looks for a fixed list of patterns; ``^`` and ``$`` hold at line feeds."""

    name: str
    left_out: frozenset[int]
    """The numbers of the patterns that it does not look for: its engine does not take them."""

    def scan(self, text: bytes) -> list[Hit]:
        """Return one match of each pattern that has any, in no order."""


class Scanners(Protocol):
    """Where scanners of the multi-pattern engine come from; compiling takes seconds.

    ``trouble`` says why there is none, empty where there is or may be one yet.
    """

    @property
    def trouble(self) -> str:
        """Why there is none."""

    def want(self, patterns: Sequence[bytes], ready: Callable[[Scanner], None]) -> None:
        """Call ``ready`` with a scanner for the patterns, now or from another thread, or never."""


class OneByOne:
    """The stand-in: RE2, one pattern after the other. Linear as well, and about twenty times slower."""

    name = "re2"
    left_out: frozenset[int] = frozenset()

    def __init__(self, patterns: Sequence[bytes]) -> None:
        """Raise PatternRefused if one of them is not RE2 syntax."""
        self._searches = [compile_line_search(pattern) for pattern in patterns]

    def scan(self, text: bytes) -> list[Hit]:
        return [(number, end) for number, ends in enumerate(self._searches) if (end := ends(text)) >= 0]
