"""Match the built-in rules: one multi-pattern scan over all values of a request. No I/O.

The scan gives each pattern's end of match, and so the value. If the rule does not target that value, or excludes it,
RE2 tests the rule's other values one by one.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from itertools import accumulate

from gatewall.engine.model import AccessRequest, Action
from gatewall.engine.waf import transforms
from gatewall.engine.waf.builtin import BUILTIN_RULES
from gatewall.engine.waf.builtin.regions import regions_of
from gatewall.engine.waf.canaries import passes_canaries
from gatewall.engine.waf.lines import on_one_line
from gatewall.engine.waf.patterns import PatternRefused, Placed
from gatewall.engine.waf.reading import CUT, beginning_of, raw_uri, values_of
from gatewall.engine.waf.rules import Category, Operator, Target, WafRule
from gatewall.engine.waf.scanning import OneByOne, Scanner, Scanners
from gatewall.engine.waf.scope import Scope
from gatewall.engine.waf.values import Value

PATTERNS = tuple([on_one_line(rule.pattern).encode("ascii") for rule in BUILTIN_RULES])
"""All patterns in one database, whichever rules are on."""
LONG_TEXT = 8_192
BEGINNING_OF_TEXT = 2_048
"""Of values that are longer in all, this much is scanned first: attacks that suffice there cost no more."""
SHORT_URI = 512
"""For longer URIs, RE2 on the few patterns for the raw URI is cheaper than one scan for all patterns."""
_BLOCK = Action.BLOCK  # an enum look-up would be the most expensive part of handling a match
_NUMBERS = {rule.pattern: number for number, rule in enumerate(BUILTIN_RULES)}
_NOT_INSPECTED = next(number for number, rule in enumerate(BUILTIN_RULES) if rule.key == "protocol-not-inspected")


class BuiltinMatcher:
    """Built-in rules of one policy."""

    def __init__(self, rules: Iterable[tuple[int, WafRule]], scanners: Scanners | None) -> None:
        """``rules`` with their positions. Raises PatternRefused, also if RE2 fails the canaries."""
        self.scanner: Scanner = OneByOne(PATTERNS)
        self.is_distrusted = False
        self._by_number: dict[int, list[Placed]] = {}
        self._others: list[Placed] = []
        self._of_uri: list[tuple[int | None, Placed]] = []
        for position, rule in rules:
            placed = Placed.of(position, rule, regions_of(rule))
            number = _NUMBERS.get(rule.pattern)
            if rule.transforms or rule.operator is not Operator.REGEX:
                number = None
            if number is None:
                self._others.append(placed)  # edited by the operator, or of another release
            else:
                self._by_number.setdefault(number, []).append(placed)
            if Target.URI in rule.targets:
                self._of_uri.append((number, placed))
        if not passes_canaries(self.scanner):
            raise PatternRefused("RE2 failed the WAF self-test: unexpected behavior of this RE2 version")
        if scanners is not None:
            scanners.want(PATTERNS, self._use)

    def _use(self, scanner: Scanner) -> None:
        """Switch to the scanner if it passes the canaries, else keep the current one."""
        if not scanner.left_out and passes_canaries(scanner):
            self.scanner = scanner
        else:
            self.is_distrusted = True

    def check(self) -> None:
        """Fall back to RE2 if the scanner fails the canaries."""
        if not (isinstance(self.scanner, OneByOne) or passes_canaries(self.scanner)):
            self.scanner = OneByOne(PATTERNS)
            self.is_distrusted = True

    def matches(self, request: AccessRequest, domain: str | None, stop_at: int = 0) -> list[Placed]:
        """Return the matching rules, unordered; with ``stop_at``, those of the beginning of a long text if enough."""
        values = values_of(request)
        text = "\n".join([value for _, _, value in values]).encode("latin-1")
        if stop_at and len(text) > LONG_TEXT:
            early = self._enough(values, text[:BEGINNING_OF_TEXT], Scope(request, domain), stop_at)
            if early:
                return early
        hits = self.scanner.scan(text)
        uri = raw_uri(request)
        if not (hits or uri or self._others):
            return []
        scope = Scope(request, domain)
        found = self._matches_of_uri(uri.encode("latin-1"), scope) if uri else []
        ends = _ends(values)
        found += [
            placed
            for number, end in hits
            for placed in self._by_number.get(number, ())
            if scope.covers(placed.rule) and _holds(placed, values, bisect_left(ends, end), scope)
        ]
        found += [each for each in self._others if scope.covers(each.rule) and _holds(each, values, None, scope)]
        return list({each.position: each for each in found}.values())

    def refused_at_once(self, request: AccessRequest, domain: str | None, threshold: int) -> list[Placed]:
        """Return rules that match the beginning of a long URI if they suffice to refuse, else none.

        They match the whole request, too. ``protocol-not-inspected`` marks that the rest was not inspected.
        """
        values = beginning_of(request)
        text = "\n".join([value for _, _, value in values]).encode("latin-1")
        return self._enough(values, text, Scope(request, domain), threshold)

    def _enough(self, values: list[Value], text: bytes, scope: Scope, threshold: int) -> list[Placed]:
        """Return the rules that match a cut text of values if they reach the threshold, with a mark, else none."""
        ends = _ends(values)
        found = [
            placed
            for number, end in self.scanner.scan(text)
            if end <= len(text) - CUT
            for placed in self._by_number.get(number, ())
            if scope.covers(placed.rule) and _is_target(placed, values[bisect_left(ends, end)], scope)
        ]
        scores: Counter[Category] = Counter()
        for placed in found:
            scores[placed.rule.category] += placed.rule.score if placed.rule.action is _BLOCK else 0
        if max(scores.values(), default=0) < threshold:
            return []
        rest: Value = (Target.URI, None, "")
        marks = self._by_number.get(_NOT_INSPECTED, ())
        return found + [each for each in marks if scope.covers(each.rule) and _is_target(each, rest, scope)]

    def _matches_of_uri(self, uri: bytes, scope: Scope) -> list[Placed]:
        if not self._of_uri:
            return []
        hits: set[int] | None = None
        if len(uri) <= SHORT_URI:
            hits = {number for number, _ in self.scanner.scan(uri)}
        return [
            placed
            for number, placed in self._of_uri
            if (number is None or hits is None or number in hits)
            and scope.covers(placed.rule)
            and not scope.spares(placed.rule, None)
            and (
                (number is not None and hits is not None) or placed.test(transforms.apply(placed.rule.transforms, uri))
            )
        ]


def _ends(values: list[Value]) -> list[int]:
    """Return the end offset of each value in the joined text."""
    return list(accumulate([len(value) + 1 for _, _, value in values], initial=-1))[1:]


def _holds(placed: Placed, values: list[Value], hit: int | None, scope: Scope) -> bool:
    """True if any targeted value matches; the one at index ``hit`` does."""
    if hit is not None and _is_target(placed, values[hit], scope):
        return True
    return any(
        index != hit
        and _is_target(placed, value, scope)
        and placed.test(transforms.apply(placed.rule.transforms, value[2].encode("latin-1")))
        for index, value in enumerate(values)
    )


def _is_target(placed: Placed, value: Value, scope: Scope) -> bool:
    target, name, _ = value
    return target in placed.targets and not (placed.rule.exclusions and scope.spares(placed.rule, name))
