"""The WAF step of a policy: built-in and custom rules over one request. No I/O."""

from collections.abc import Iterable
from operator import attrgetter

from gatewall.engine.model import AccessRequest
from gatewall.engine.waf.builtin_matcher import PATTERNS, BuiltinMatcher
from gatewall.engine.waf.custom_matcher import CustomMatcher
from gatewall.engine.waf.rules import WafRule
from gatewall.engine.waf.vector import VectorScanner


class RuleSet:
    """Compiled rules; the ``waf`` of a policy snapshot."""

    __slots__ = ("_builtin", "_custom")

    def __init__(self, rules: Iterable[WafRule]) -> None:
        """Compile the rules in the order in which they are reported.

        Raises PatternRefused.
        """
        builtin, custom = [], []
        for position, rule in enumerate(rules):
            (builtin if rule.builtin else custom).append((position, rule))
        self._builtin = BuiltinMatcher(builtin, VectorScanner.compiled(PATTERNS)) if builtin else None
        self._custom = CustomMatcher(custom) if custom else None

    def inspect(self, request: AccessRequest, domain: str | None) -> tuple[WafRule, ...]:
        """Return the rules that match the request, which was made for this registered domain."""
        found = self._builtin.matches(request, domain) if self._builtin else []
        if self._custom:
            found = found + self._custom.matches(request, domain)
        if not found:
            return ()
        found.sort(key=_position)
        return tuple([each.rule for each in found])


_position = attrgetter("position")
