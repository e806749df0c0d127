"""Which custom rules can match at all: their patterns as expressions of the multi-pattern engine. No I/O.

An expression finds whatever its rule finds, and may find more: RE2 has the last word.
"""

from gatewall.engine.waf import vector
from gatewall.engine.waf.rules import Operator, WafRule

READ_OTHERWISE = "RE2 and the engine that scans for many patterns at once read it differently"
_TOO_SUBTLE = (b"\0", rb"\A", rb"\z", rb"\S", rb"\C", rb"\p", rb"\P", rb"\Q", b"[:", b"{,", b"(?U")
_BYTES = (rb"\x", *(b"\\%d" % digit for digit in range(8)))
_SPECIAL = frozenset(b"\\^$.|?*+()[]{}/-")


def expression_of(rule: WafRule) -> bytes | None:
    """Return the expression of a rule, None where only RE2 can say whether it matches.

    Values are lines of one text: what tells the end of a value from the end of a line, or reads a class
    otherwise than RE2 does, is left to RE2.
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
        case Operator.CONTAINS:  # pragma: no branch - the last operator; mypy sees that every one is here
            return _literal(needle)


def why_apart(rule: WafRule) -> str:
    """Return why RE2 looks for a rule by itself, beside the one scan for all others; empty if it does not."""
    if not vector.AVAILABLE:
        return ""
    expression = expression_of(rule)
    return READ_OTHERWISE if expression is None else vector.why_refused(expression)


def _regex(pattern: bytes) -> bytes | None:
    if not pattern.isascii() or any(part in pattern for part in _TOO_SUBTLE):
        return None
    if b"[^" in pattern and (rb"\s" in pattern or rb"\v" in pattern):  # each holds more here than it does to RE2
        return None
    groups = pattern.split(b"(?")[1:]
    if any(group.lstrip(b"imsU").startswith(b"-") for group in groups):  # ``(?i-m)`` takes the lines away from ^ and $
        return None
    if groups and any(part in pattern for part in _BYTES):  # those beyond ASCII have two cases to RE2 and one here
        return None
    return pattern


def _literal(needle: bytes) -> bytes:
    return b"".join(
        [b"\\x%02x" % each if each in _SPECIAL or not 32 < each < 127 else bytes([each]) for each in needle]
    )
