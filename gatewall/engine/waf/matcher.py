"""Matches WAF rules with RE2: the only place that knows the engine.

RE2 runs on bytes in LATIN1. In UTF-8 ``(?i)k`` would also match U+212A, and a byte sequence that is
not UTF-8 would match nothing at all.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import attrgetter

import re2

from gatewall.engine.model import AccessRequest
from gatewall.engine.waf import transforms
from gatewall.engine.waf.builtin import BUILTIN_RULES
from gatewall.engine.waf.rules import Exclusion, Operator, Target, Transform, WafRule
from gatewall.engine.waf.views import Value, Views

MAX_PATTERN_BYTES = 4096
_MAX_PROGRAM_BYTES = 1 << 20

Test = Callable[[bytes], bool]


class PatternRefused(ValueError):
    """The pattern cannot be matched in linear time and bounded memory; the message says why."""


def compile_pattern(pattern: str, operator: Operator) -> Test:
    """Return the test that says whether a value matches.

    Raises PatternRefused if the pattern is empty, not text, over 4 KiB, not RE2 syntax (back-references and
    look-around have no linear-time form) or needs over 1 MiB when compiled.
    """
    try:
        needle = pattern.encode("utf-8")  # as browsers send text; a regex names other bytes as \xff
    except UnicodeEncodeError:
        raise PatternRefused("the pattern is not text: it holds half of a surrogate pair") from None
    if not 0 < len(needle) <= MAX_PATTERN_BYTES:
        raise PatternRefused(f"a pattern has 1 to {MAX_PATTERN_BYTES} bytes, not {len(needle)}")
    match operator:
        case Operator.REGEX:
            return _compile_regex(needle)
        case Operator.CONTAINS:
            return lambda value: needle in value
        case Operator.EQUALS:
            return lambda value: value == needle
        case Operator.STARTS_WITH:
            return lambda value: value.startswith(needle)
        case Operator.ENDS_WITH:  # pragma: no branch - the last operator; mypy sees that every one is here
            return lambda value: value.endswith(needle)


def _compile_regex(pattern: bytes) -> Test:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = _MAX_PROGRAM_BYTES
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        raise PatternRefused(f"not a pattern of RE2 syntax: {error.args[0].decode('latin-1')}") from None
    search = compiled.search
    return lambda value: search(value) is not None


_NO_NEED = (b"",)
"""What every value has in it."""
_NEEDS = {rule.pattern: rule.needs for rule in BUILTIN_RULES}
_SEPARATOR = b"\xff"  # in no need, so that none is made up where two values meet


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A rule, ready to run, and its place in the order."""

    position: int
    rule: WafRule
    test: Test
    needs: tuple[bytes, ...]

    @classmethod
    def of(cls, position: int, rule: WafRule) -> "_Compiled":
        needs = _NEEDS.get(rule.pattern, _NO_NEED) if rule.operator is Operator.REGEX else _NO_NEED
        return cls(position, rule, compile_pattern(rule.pattern, rule.operator), needs)


class RuleSet:
    """Compiled rules; the ``waf`` of a policy snapshot.

    Rules that look at the same parts of a request in the same way are one group: what they look at
    is gathered once. A part is a target and the transforms made to it.
    """

    __slots__ = ("_groups", "_parts", "rules")

    def __init__(self, rules: Iterable[WafRule]) -> None:
        """Compile the rules in the order in which they are reported.

        Raises PatternRefused.
        """
        self.rules = tuple(rules)
        parts: dict[tuple[Target, tuple[Transform, ...]], int] = {}
        groups: dict[tuple[int, ...], list[_Compiled]] = {}
        for position, rule in enumerate(self.rules):
            numbers = tuple([parts.setdefault((target, rule.transforms), len(parts)) for target in rule.targets])
            groups.setdefault(numbers, []).append(_Compiled.of(position, rule))
        self._parts = tuple(parts)
        self._groups = tuple([(numbers, tuple(group)) for numbers, group in groups.items()])

    def inspect(self, request: AccessRequest, domain: str | None) -> tuple[WafRule, ...]:
        """Return the rules that match the request, which was made for this registered domain."""
        if not self._groups:
            return ()
        views = Views(request)
        parts = [transforms.apply_to_all(changes, views.of(target)) for target, changes in self._parts]
        found: list[_Compiled] = []
        for numbers, group in self._groups:
            values = [value for number in numbers for value in parts[number]]
            text = _SEPARATOR.join([value for _, value in values]).lower()
            found += [each for each in group if _has_one(each.needs, text) and _matches(each, values, views, domain)]
        found.sort(key=_position)
        return tuple([each.rule for each in found])


_position = attrgetter("position")


def _has_one(needs: tuple[bytes, ...], text: bytes) -> bool:
    for need in needs:  # noqa: SIM110 - any() costs more than what it asks
        if need in text:
            return True
    return False


def _matches(compiled: _Compiled, values: list[Value], views: Views, domain: str | None) -> bool:
    rule, test, needs = compiled.rule, compiled.test, compiled.needs
    if rule.domain is not None and rule.domain != domain:
        return False
    if rule.path_prefix is not None and not _may_be_below(views.readings, rule.path_prefix):
        return False
    for name, value in values:
        if not _has_one(needs, value.lower()) or not test(value):
            continue
        if not (rule.exclusions and _is_spared(rule.exclusions, name, views, domain)):
            return True
    return False


def _is_spared(exclusions: tuple[Exclusion, ...], name: str | None, views: Views, domain: str | None) -> bool:
    return any(
        (exclusion.domain is None or exclusion.domain == domain)
        and (exclusion.path_prefix is None or _is_surely_below(views.readings, exclusion.path_prefix))
        and (exclusion.argument is None or exclusion.argument == name)
        for exclusion in exclusions
    )


def _may_be_below(paths: tuple[bytes, ...], prefix: str) -> bool:
    """True if some server may take the path for the prefix or for one below it."""
    start = _start(prefix)
    return any(_is_below(path, start) for path in paths)


def _is_surely_below(paths: tuple[bytes, ...], prefix: str) -> bool:
    """True if every server takes the path for the prefix or for one below it."""
    start = _start(prefix)
    return all(_is_below(path, start) for path in paths)


def _start(prefix: str) -> bytes:
    return prefix.encode("utf-8").rstrip(b"/")


def _is_below(path: bytes, start: bytes) -> bool:
    """``/admin`` does not cover ``/administrator``."""
    return path == start or path.startswith(start + b"/")
