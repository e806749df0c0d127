"""A compiled rule with its position. No I/O."""

from dataclasses import dataclass

from gatewall.engine.waf.patterns import Test, compile_pattern
from gatewall.engine.waf.rules import Target, WafRule


@dataclass(frozen=True, slots=True)
class Placed:
    """A rule, its position in reporting order, and its test for a single value."""

    position: int
    rule: WafRule
    test: Test
    targets: frozenset[Target]

    @classmethod
    def of(cls, position: int, rule: WafRule) -> "Placed":
        """Compile the rule's pattern. Raises PatternRefused."""
        return cls(position, rule, compile_pattern(rule.pattern, rule.operator), frozenset(rule.targets))
