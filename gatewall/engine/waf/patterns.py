"""Compile patterns with RE2; the only module that imports it.

RE2 runs on bytes in LATIN1: in UTF-8 ``(?i)k`` would also match U+212A, and invalid UTF-8 would never match.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import re2

from gatewall.engine.messages import Refused
from gatewall.engine.messages import gettext_noop as _
from gatewall.engine.waf.rules import Operator, Region, WafRule

MAX_PATTERN_BYTES = 4096
_MAX_PROGRAM_BYTES = 1 << 20

Test = Callable[[bytes], bool]
Ends = Callable[[bytes], int]
Find = Callable[[bytes], tuple[int, int] | None]


class PatternRefused(Refused):
    """The pattern cannot be matched in linear time and bounded memory."""


def compile_pattern(pattern: str, operator: Operator) -> Test:
    """Return a function that tests whether a value matches.

    Raises PatternRefused if the pattern is empty, not text, over 4 KiB, not RE2 syntax (no back-references or
    look-around) or needs over 1 MiB when compiled.
    """
    needle = needle_of(pattern)
    match operator:
        case Operator.REGEX:
            search = _regex(needle).search
            return lambda value: search(value) is not None
        case Operator.CONTAINS:
            return lambda value: needle in value
        case Operator.EQUALS:
            return lambda value: value == needle
        case Operator.STARTS_WITH:
            return lambda value: value.startswith(needle)
        case Operator.ENDS_WITH:  # pragma: no branch - the last operator; mypy checks exhaustiveness
            return lambda value: value.endswith(needle)


@dataclass(frozen=True, slots=True)
class Placed:
    """A compiled rule, its position in reporting order, and its test for a single value."""

    position: int
    rule: WafRule
    test: Test
    targets: frozenset[Region]

    @classmethod
    def of(cls, position: int, rule: WafRule, targets: frozenset[Region] | None = None) -> "Placed":
        """Compile the rule's pattern. ``targets`` replace the rule's. Raises PatternRefused."""
        found = frozenset(rule.targets) if targets is None else targets
        return cls(position, rule, compile_pattern(rule.pattern, rule.operator), found)


def compile_find(pattern: str, operator: Operator) -> Find:
    """Return a function that returns the span of the first match in a value, or None. Raises PatternRefused.

    It matches the same values as ``compile_pattern``.
    """
    test, needle = compile_pattern(pattern, operator), needle_of(pattern)
    match operator:
        case Operator.REGEX:
            search = _regex(needle).search
            return lambda value: found.span() if (found := search(value)) else None
        case Operator.ENDS_WITH:
            return lambda value: (len(value) - len(needle), len(value)) if test(value) else None
        case _:  # the first occurrence is the match
            return lambda value: (value.find(needle), value.find(needle) + len(needle)) if test(value) else None


def needle_of(pattern: str) -> bytes:
    """Encode a pattern as matched against values. Raises PatternRefused."""
    try:
        needle = pattern.encode("utf-8")  # as browsers send text; a regex writes other bytes as \xff
    except UnicodeEncodeError:
        raise PatternRefused(_("the pattern is not text: it holds half of a surrogate pair")) from None
    if not 0 < len(needle) <= MAX_PATTERN_BYTES:
        raise PatternRefused(
            _("a pattern has 1 to %(most)s bytes, not %(number)s"), most=MAX_PATTERN_BYTES, number=len(needle)
        )
    return needle


def compile_line_search(pattern: bytes) -> Ends:
    """Return a function that returns the end of the first match in lines of text, or -1. Raises PatternRefused."""
    search = _regex(b"(?m)" + pattern).search

    def ends(lines: bytes) -> int:
        found = search(lines)
        return found.end() if found else -1

    return ends


@lru_cache(maxsize=1024)  # consecutive policies share patterns
def _regex(pattern: bytes) -> "re2._Regexp":
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = _MAX_PROGRAM_BYTES
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        raise PatternRefused(
            _("not a pattern of RE2 syntax: %(error)s"), error=error.args[0].decode("latin-1")
        ) from None
