"""Port of the multi-pattern scan engine, and its fallback on RE2. No I/O."""

from collections.abc import Callable, Sequence
from typing import Protocol

from gatewall.engine.waf.patterns import compile_line_search

Hit = tuple[int, int]
"""Number of a pattern and end offset of one of its matches."""


class Scanner(Protocol):
    """Scans for a fixed list of patterns; ``^`` and ``$`` match at line feeds."""

    name: str
    left_out: frozenset[int]
    """Numbers of the patterns that the engine does not accept."""

    def scan(self, text: bytes) -> list[Hit]:
        """Return one match of each matching pattern, unordered."""

    def scan_until(self, text: bytes, is_enough: Callable[[Hit], bool]) -> list[Hit]:
        """Return the matches as ``scan`` does, but stop at the first for which ``is_enough`` returns True."""


class Scanners(Protocol):
    """Source of compiled scanners; compiling takes seconds."""

    @property
    def trouble(self) -> str:
        """Reason why there are no scanners; empty if there are, or may be later."""

    def want(self, patterns: Sequence[bytes], ready: Callable[[Scanner], None]) -> None:
        """Call ``ready`` with a scanner for the patterns: now, later from another thread, or never."""


class OneByOne:
    """Fallback: RE2, one pattern after the other; also linear, about twenty times slower."""

    name = "re2"
    left_out: frozenset[int] = frozenset()

    def __init__(self, patterns: Sequence[bytes]) -> None:
        """Raise PatternRefused if a pattern is not RE2 syntax."""
        self._searches = [compile_line_search(pattern) for pattern in patterns]

    def scan(self, text: bytes) -> list[Hit]:
        return [(number, end) for number, ends in enumerate(self._searches) if (end := ends(text)) >= 0]

    def scan_until(self, text: bytes, is_enough: Callable[[Hit], bool]) -> list[Hit]:
        hits: list[Hit] = []
        for number, ends in enumerate(self._searches):
            if (end := ends(text)) >= 0:
                hits.append((number, end))
                if is_enough(hits[-1]):
                    break
        return hits
