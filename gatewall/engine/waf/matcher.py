"""Matches WAF rules with RE2: the only place that knows the engine.

RE2 runs on bytes in LATIN1. In UTF-8 ``(?i)k`` would also match U+212A, and a byte sequence that is
not UTF-8 would match nothing at all.
"""

from collections.abc import Callable, Iterable
from functools import partial

import re2

from gatewall.engine.model import AccessRequest
from gatewall.engine.waf import transforms
from gatewall.engine.waf.rules import Exclusion, Operator, Target, WafRule
from gatewall.engine.waf.views import Value, Views

MAX_PATTERN_BYTES = 4096
_MAX_PROGRAM_BYTES = 1 << 20
_ARGUMENT_TARGETS = frozenset({Target.ARGS, Target.ARG_NAMES, Target.COOKIES, Target.HEADERS})

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
        case Operator.ENDS_WITH:
            return lambda value: value.endswith(needle)


def _compile_regex(pattern: bytes) -> Test:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = _MAX_PROGRAM_BYTES
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        raise PatternRefused(f"not a pattern of RE2 syntax: {_words(error)}") from None
    search = compiled.search
    return lambda value: search(value) is not None


def _words(error: Exception) -> str:
    detail = error.args[0] if error.args else ""
    return detail.decode("latin-1") if isinstance(detail, bytes) else str(detail)


class RuleSet:
    """Compiled rules; the ``waf`` of a policy snapshot."""

    __slots__ = ("_rules",)

    def __init__(self, rules: Iterable[WafRule]) -> None:
        """Compile the rules in the order in which they are reported.

        Raises PatternRefused.
        """
        self._rules = tuple((rule, compile_pattern(rule.pattern, rule.operator)) for rule in rules)

    def inspect(self, request: AccessRequest, domain: str | None) -> tuple[WafRule, ...]:
        """Return the rules that match the request, which was made for this registered domain."""
        if not self._rules:
            return ()
        views = Views(request)
        return tuple(rule for rule, test in self._rules if _matches(rule, test, views, domain))


def _matches(rule: WafRule, test: Test, views: Views, domain: str | None) -> bool:
    if rule.domain is not None and rule.domain != domain:
        return False
    if rule.path_prefix is not None and not _is_below(views.canonical_path, rule.path_prefix):
        return False
    spared = partial(_is_spared, rule.exclusions, views, domain)
    return any(
        test(transforms.apply(rule.transforms, value[1])) and not (rule.exclusions and spared(target, value))
        for target in rule.targets
        for value in views.of(target)
    )


def _is_spared(
    exclusions: tuple[Exclusion, ...], views: Views, domain: str | None, target: Target, value: Value
) -> bool:
    return any(
        (exclusion.domain is None or exclusion.domain == domain)
        and (exclusion.path_prefix is None or _is_below(views.canonical_path, exclusion.path_prefix))
        and (exclusion.argument is None or (target in _ARGUMENT_TARGETS and exclusion.argument == value[0]))
        for exclusion in exclusions
    )


def _is_below(path: bytes, prefix: str) -> bool:
    """True if the path is the prefix or lies below it; ``/admin`` does not cover ``/administrator``."""
    start = prefix.encode("utf-8").rstrip(b"/")
    return path == start or path.startswith(start + b"/")
