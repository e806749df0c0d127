"""Matches the rules that people write, with the exact meaning of their operator, targets and transforms. No I/O."""

from collections.abc import Iterable

from gatewall.engine.model import AccessRequest
from gatewall.engine.waf import transforms
from gatewall.engine.waf.placed import Placed
from gatewall.engine.waf.rules import Target, Transform, WafRule
from gatewall.engine.waf.scope import Scope
from gatewall.engine.waf.views import Value, Views

Part = tuple[Target, tuple[Transform, ...]]
"""What a rule looks at: a target and the transforms made to it."""


class CustomMatcher:
    """The custom rules of one policy. What several rules look at is gathered once."""

    __slots__ = ("_parts", "_rules")

    def __init__(self, rules: Iterable[tuple[int, WafRule]]) -> None:
        """Take the rules with their places in the order. Raises PatternRefused."""
        parts: dict[Part, int] = {}
        self._rules: list[tuple[Placed, tuple[int, ...]]] = []
        for position, rule in rules:
            numbers = tuple([parts.setdefault((target, rule.transforms), len(parts)) for target in rule.targets])
            self._rules.append((Placed.of(position, rule), numbers))
        self._parts = tuple(parts)

    def matches(self, request: AccessRequest, domain: str | None) -> list[Placed]:
        """Return the rules that match the request, in no order."""
        views = Views(request)
        parts = [transforms.apply_to_all(changes, views.of(target)) for target, changes in self._parts]
        scope = Scope(request, domain)
        found = []
        for placed, numbers in self._rules:
            if scope.covers(placed.rule) and _holds(placed, (parts[number] for number in numbers), scope):
                found.append(placed)
        return found


def _holds(placed: Placed, parts: Iterable[tuple[Value, ...]], scope: Scope) -> bool:
    rule, test = placed.rule, placed.test
    for values in parts:
        for name, value in values:
            if test(value) and not (rule.exclusions and scope.spares(rule, name)):
                return True
    return False
