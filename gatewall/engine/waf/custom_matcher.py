"""Match custom rules, exactly by their operator, targets and transforms. No I/O.

Many rules are prefiltered by one multi-pattern scan over all their targets; candidates, and rules that the scan cannot
judge, are then tested on their own values.
"""

from collections.abc import Iterable
from operator import attrgetter

from gatewall.engine.model import AccessRequest
from gatewall.engine.waf import transforms
from gatewall.engine.waf.forms import Value, Views
from gatewall.engine.waf.patterns import Placed
from gatewall.engine.waf.prefilter import expression_of
from gatewall.engine.waf.rules import Target, Transform, WafRule
from gatewall.engine.waf.scanning import Scanner, Scanners
from gatewall.engine.waf.scope import Scope

WORTH_A_SCAN = 8
"""Matching fewer rules one by one is as fast."""

Part = tuple[Target, tuple[Transform, ...]]
"""What a rule inspects: a target and its transforms."""
Numbered = tuple[Placed, tuple[int, ...]]
"""A rule and the numbers of the parts that it inspects."""


class CustomMatcher:
    """Custom rules of one policy; shared targets are computed once."""

    def __init__(self, rules: Iterable[tuple[int, WafRule]], scanners: Scanners | None = None) -> None:
        """``rules`` with their positions. Raises PatternRefused."""
        parts: dict[Part, int] = {}
        self._rules: list[Numbered] = []
        for position, rule in rules:
            numbers = tuple([parts.setdefault((target, rule.transforms), len(parts)) for target in rule.targets])
            self._rules.append((Placed.of(position, rule), numbers))
        self._parts = tuple(parts)
        expressions = [expression_of(placed.rule) for placed, _ in self._rules]
        self._scanned = [each for each, found in zip(self._rules, expressions, strict=True) if found is not None]
        self._alone = [each for each, found in zip(self._rules, expressions, strict=True) if found is None]
        self.scanner: Scanner | None = None
        self.is_worth_a_scan = len(self._scanned) >= WORTH_A_SCAN
        if scanners is not None and self.is_worth_a_scan:
            scanners.want([each for each in expressions if each is not None], self._use)

    def _use(self, scanner: Scanner) -> None:
        self._alone = self._alone + [self._scanned[number] for number in sorted(scanner.left_out)]
        self.scanner = scanner  # last, because other threads may be matching

    @property
    def apart(self) -> list[WafRule]:
        """Rules that RE2 tests separately from the combined scan."""
        placed = sorted([placed for placed, _ in self._alone], key=attrgetter("position")) if self.scanner else []
        return [each.rule for each in placed]

    def matches(self, request: AccessRequest, scope: Scope) -> list[Placed]:
        """Return the matching rules, unordered."""
        views = Views(request)
        parts = [transforms.apply_to_all(changes, views.of(target)) for target, changes in self._parts]
        scanner = self.scanner
        if scanner is None:
            candidates = self._rules
        else:
            text = b"\n".join([value for values in parts for _, value in values])
            candidates = [self._scanned[number] for number, _ in scanner.scan(text)] + self._alone
        return [
            placed
            for placed, numbers in candidates
            if scope.covers(placed.rule) and _holds(placed, (parts[number] for number in numbers), scope)
        ]


def _holds(placed: Placed, parts: Iterable[tuple[Value, ...]], scope: Scope) -> bool:
    """True if a value of the rule's parts, in the order of its targets, matches."""
    rule, test = placed.rule, placed.test
    for target, values in zip(rule.targets, parts, strict=True):
        for name, value in values:
            if test(value) and not (rule.exclusions and scope.spares(rule, target, name)):
                scope.hits[placed.position] = target, name
                return True
    return False
