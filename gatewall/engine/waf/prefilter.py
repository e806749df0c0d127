"""Translate custom rules to hyperscan expressions that prefilter for RE2. No I/O.

An expression matches whenever its rule does, and possibly more: RE2 decides.
"""

from gatewall.engine.waf import vector
from gatewall.engine.waf.rules import Operator, WafRule

READ_OTHERWISE = "RE2 and hyperscan interpret it differently"
_TOO_SUBTLE = (b"\0", rb"\A", rb"\z", rb"\S", rb"\C", rb"\p", rb"\P", rb"\Q", b"[:", b"{,", b"(?U")
_BYTES = (rb"\x", *(b"\\%d" % digit for digit in range(8)))
_SPECIAL = frozenset(b"\\^$.|?*+()[]{}/-")


def expression_of(rule: WafRule) -> bytes | None:
    """Return the expression of a rule, or None if only RE2 can match it.

    Values are scanned as lines of one text, so patterns that distinguish the end of a value from the end of a line, or
    have classes that hyperscan interprets differently, are left to RE2.
    """
    needle = rule.pattern.encode("utf-8")
    match rule.operator:
        case Operator.REGEX:
            return _regex(needle)
        case Operator.EQUALS:
            return b"^" + _literal(needle) + b"$"
        case Operator.STARTS_WITH:
            return b"^" + _literal(needle)
        case Operator.ENDS_WITH:
            return _literal(needle) + b"$"
        case Operator.CONTAINS:  # pragma: no branch - the last operator; mypy checks exhaustiveness
            return _literal(needle)


def why_apart(rule: WafRule) -> str:
    """Return why RE2 tests a rule separately from the combined scan, or empty if it does not."""
    if not vector.AVAILABLE:
        return ""
    expression = expression_of(rule)
    return READ_OTHERWISE if expression is None else vector.why_refused(expression)


def _regex(pattern: bytes) -> bytes | None:
    if not pattern.isascii() or any(part in pattern for part in _TOO_SUBTLE):
        return None
    if b"[^" in pattern and (rb"\s" in pattern or rb"\v" in pattern):  # larger classes in hyperscan than in RE2
        return None
    groups = pattern.split(b"(?")[1:]
    if any(group.lstrip(b"imsU").startswith(b"-") for group in groups):  # ``(?i-m)`` switches off multi-line mode
        return None
    if groups and any(part in pattern for part in _BYTES):  # RE2 folds case beyond ASCII, hyperscan does not
        return None
    return pattern


def _literal(needle: bytes) -> bytes:
    return b"".join(
        [b"\\x%02x" % each if each in _SPECIAL or not 32 < each < 127 else bytes([each]) for each in needle]
    )
