"""Match the built-in rules: one multi-pattern scan over all values of a request. No I/O.

The scan returns where each pattern's match ends, and so in which value. If the rule does not target that value, or
excludes it, RE2 tests the rule's other values one by one.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain

from gatewall.engine.model import AccessRequest, Action
from gatewall.engine.waf import transforms
from gatewall.engine.waf.builtin import BUILTIN_RULES
from gatewall.engine.waf.builtin.regions import IN_FILE, IN_TEXT, regions_of
from gatewall.engine.waf.canaries import passes_canaries
from gatewall.engine.waf.confirming import Doubt, confirmed
from gatewall.engine.waf.found import ends_of, holds, is_hit, is_target, refuse, scores_of, split
from gatewall.engine.waf.patterns import PatternRefused, Placed
from gatewall.engine.waf.plain_request import plain_request
from gatewall.engine.waf.quiet import is_quiet, note_quiet
from gatewall.engine.waf.reading import CUT, beginning_of, raw_uri, values_of
from gatewall.engine.waf.rules import (
    THRESHOLD,
    BodyRegion,
    Operator,
    Target,
    WafRule,
    with_shared_exclusions,
)
from gatewall.engine.waf.scanning import Hit, OneByOne, Scanner, Scanners
from gatewall.engine.waf.scope import Scope
from gatewall.engine.waf.some_patterns import PATTERNS, SomePatterns, is_retargeted
from gatewall.engine.waf.values import Value

LONG_TEXT = 8_192
BEGINNING_OF_TEXT = 2_048
"""Of longer texts, RE2 scans this much first; a second scan of the whole text stops once the matches suffice."""
_EVERY = range(len(PATTERNS))
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
        self.others: list[Placed] = []
        self._of_uri: list[tuple[int | None, Placed]] = []
        self._of_forms: list[Placed] = []
        for position, rule in with_shared_exclusions(rules):
            self._place(Placed.of(position, rule, regions_of(rule)))
        if not passes_canaries(self.scanner):
            raise PatternRefused("RE2 failed the WAF self-test: unexpected behavior of this RE2 version")
        if scanners is not None:
            scanners.want(PATTERNS, self._use)
        self._in_texts = SomePatterns(IN_TEXT, scanners)
        self._in_files = SomePatterns(IN_FILE, scanners)
        placed = [*self.others, *chain.from_iterable(self._by_number.values())]
        in_texts = [each for each in placed if not each.targets.isdisjoint(BodyRegion)]
        enforced = {_NUMBERS.get(each.rule.pattern) for each in in_texts if each.rule.action is _BLOCK}
        self._enforces_in_texts = bool(enforced)
        monitored = scores_of([each for each in in_texts if each.rule.action is not _BLOCK])
        excepting = [each.rule for each in in_texts if each.rule.exclusions]
        shared = Counter([id(each.exclusions) for each in excepting])
        self._excepting = max(excepting, key=lambda rule: shared[id(rule.exclusions)], default=None)
        """A rule with the exclusions that most rules for texts have."""
        self._enforced: SomePatterns | None = None
        """Patterns of the enforced rules for texts, if monitored rules alone can reach the threshold."""
        if enforced and max(monitored.values(), default=0) >= THRESHOLD:
            self._enforced = SomePatterns([each for each in IN_TEXT if each in enforced], scanners)

    def _place(self, placed: Placed) -> None:
        rule = placed.rule
        number = _NUMBERS.get(rule.pattern)
        if rule.transforms or rule.operator is not Operator.REGEX or is_retargeted(number, placed):
            number = None
        if number is None:
            self.others.append(placed)  # edited by the operator, or of another release
        else:
            self._by_number.setdefault(number, []).append(placed)
            if BodyRegion.RAW in placed.targets:
                self._of_forms.append(placed)
        if Target.URI in rule.targets:
            self._of_uri.append((number, placed))

    def _use(self, scanner: Scanner) -> None:
        if not scanner.left_out and passes_canaries(scanner):
            self.scanner = scanner
        else:
            self.is_distrusted = True

    @property
    def is_waiting(self) -> bool:
        return isinstance(self.scanner, OneByOne) or any(each.is_by_re2 for each in self._subsets)

    @property
    def _subsets(self) -> list[SomePatterns]:
        return [self._in_texts, self._in_files, *([self._enforced] if self._enforced else ())]

    def check(self) -> None:
        if not (isinstance(self.scanner, OneByOne) or passes_canaries(self.scanner)):
            self.scanner = OneByOne(PATTERNS)
            self.is_distrusted = True
        for each in self._subsets:
            each.check()
            self.is_distrusted = self.is_distrusted or each.is_distrusted

    def is_harmless(self, request: AccessRequest) -> bool:
        """True only if certainly no rule matches the request; only plain requests are tested."""
        if self.others:
            return False
        text = plain_request(request)
        return text is not None and not self.scanner.scan(text)

    def matches(self, request: AccessRequest, scope: Scope, stop_at: int = 0) -> list[Placed]:
        """Return the matching rules, unordered; with ``stop_at``, only those outside of texts if they suffice."""
        uri, shared = raw_uri(request), request.shared
        if shared is not None and not (uri or self.others) and is_quiet(request, shared, self.scanner):
            return []
        values = values_of(request)
        singles, texts = split(values) if values.has_texts else (values, {})
        hits, found = self._scan(self.scanner, _EVERY, singles, scope)
        if shared is not None and not (hits or texts):
            note_quiet(request, shared, self.scanner, values)
        if uri:
            found += self._matches_of_uri(uri.encode("latin-1"), scope)
        for region, group in texts.items():
            if stop_at and self._suffices(found, stop_at):
                found += self._marks(scope)
                break
            if region is BodyRegion.RAW:
                found += [each for each in self._of_forms if scope.covers(each.rule) and holds(each, group, scope)]
                continue
            some = self._in_files if region is BodyRegion.FILE else self._in_texts
            if stop_at and sum([len(text) for _, _, text in group]) > LONG_TEXT:
                found += self._in_beginning(some, group, scope) if some.is_by_re2 else []
                if not self._suffices(found, stop_at):
                    found += self._in_long_texts(some, group, scope, found, stop_at)
                if self._suffices(found, stop_at):
                    found += self._marks(scope)
                    break
            else:
                found += self._scan(some.scanner, some.numbers, group, scope)[1]
        found += [each for each in self.others if scope.covers(each.rule) and holds(each, values, scope)]
        return list({each.position: each for each in found}.values())

    def _scan(
        self, scanner: Scanner, numbers: Sequence[int], values: list[Value], scope: Scope
    ) -> tuple[list[Hit], list[Placed]]:
        """Return the hits of one scan, and the matching rules; in doubt, each target is scanned once more."""
        hits = scanner.scan("\n".join([value for _, _, value in values]).encode("latin-1"))
        return hits, self._of_hits(hits, scanner, numbers, values, scope) if hits else []

    def _in_long_texts(
        self, some: SomePatterns, values: list[Value], scope: Scope, found: list[Placed], stop_at: int
    ) -> list[Placed]:
        """Return the rules that match one of the texts, by one scan that ends once they and ``found`` suffice.

        It also ends when monitored rules suffice: then a second scan, of all texts, is for enforced rules only.
        """
        if rule := self._excepting:  # excluded values come last, so they hide no other match
            values = sorted(values, key=lambda value: scope.spares(rule, value[0], value[1]))
        of_texts, is_stopped = self._scan_until_enough(some, values, scope, found, stop_at)
        if is_stopped and self._enforced and not self._suffices([*found, *of_texts], stop_at):
            of_texts += self._scan_until_enough(self._enforced, values, scope, [*found, *of_texts], stop_at)[0]
        return of_texts

    def _scan_until_enough(
        self, some: SomePatterns, values: list[Value], scope: Scope, found: list[Placed], stop_at: int
    ) -> tuple[list[Placed], bool]:
        """Return the rules that match one of the texts, and whether the scan ended early."""
        text, ends = "\n".join([text for _, _, text in values]).encode("latin-1"), ends_of(values)
        are_monitored_counted = self._enforced is not None and some is self._in_texts
        so_far, is_stopped = list(found), False

        def is_enough(hit: Hit) -> bool:
            nonlocal is_stopped
            number, end = hit
            value = values[bisect_left(ends, end)]
            rules = self._by_number.get(some.numbers[number], ())
            if now := [each for each in rules if scope.covers(each.rule) and is_target(each, value, scope)]:
                so_far.extend(now)
                is_stopped = self._suffices(so_far, stop_at, are_monitored_counted=are_monitored_counted)
            return is_stopped

        hits = some.scanner.scan_until(text, is_enough)
        return (self._of_hits(hits, some.scanner, some.numbers, values, scope) if hits else []), is_stopped

    def _of_hits(
        self, hits: list[Hit], scanner: Scanner, numbers: Sequence[int], values: list[Value], scope: Scope
    ) -> list[Placed]:
        ends = ends_of(values)
        found: list[Placed] = []
        doubts: list[Doubt] = []
        for number, end in hits:
            for placed in self._by_number.get(numbers[number], ()):
                if scope.covers(placed.rule):
                    index = bisect_left(ends, end)
                    if is_hit(placed, values[index], scope):
                        found.append(placed)
                    else:
                        doubts.append((number, index, placed))
        return found + confirmed(scanner, values, doubts, scope) if doubts else found

    def refused_at_once(self, request: AccessRequest, scope: Scope, threshold: int) -> list[Placed]:
        """Return rules that match the beginning of a long URI, and the whole request, if they suffice to refuse."""
        values = beginning_of(request)
        text = "\n".join([value for _, _, value in values]).encode("latin-1")
        return self._refusing_in_cut(values, text, scope, threshold)

    def _refusing_in_cut(self, values: list[Value], text: bytes, scope: Scope, threshold: int) -> list[Placed]:
        """Return the rules that match a cut text of values if they reach the threshold, with a mark, else none."""
        found = self._in_cut(self.scanner, _EVERY, values, text, scope)
        return found + self._marks(scope) if refuse(found, threshold) else []

    def _in_beginning(self, some: SomePatterns, values: list[Value], scope: Scope) -> list[Placed]:
        """Return the rules that match the beginning of long texts, for RE2, which reads all for each pattern."""
        text = "\n".join([value for _, _, value in values])[:BEGINNING_OF_TEXT].encode("latin-1")
        return self._in_cut(some.scanner, some.numbers, values, text, scope)

    def _in_cut(
        self, scanner: Scanner, numbers: Sequence[int], values: list[Value], text: bytes, scope: Scope
    ) -> list[Placed]:
        """Return the rules that match the joined values, cut to this text, before its last characters."""
        ends = ends_of(values)
        return [
            placed
            for number, end in scanner.scan(text)
            if end <= len(text) - CUT
            for placed in self._by_number.get(numbers[number], ())
            if scope.covers(placed.rule) and is_hit(placed, values[bisect_left(ends, end)], scope)
        ]

    def _suffices(self, found: list[Placed], threshold: int, *, are_monitored_counted: bool = False) -> bool:
        """True if the scores of one category reach the threshold, so that texts need no scan.

        Enforced rules count; if none inspects texts, monitored ones too, because no text can refuse the request.
        """
        return refuse(found, threshold, are_monitored_counted=are_monitored_counted or not self._enforces_in_texts)

    def _marks(self, scope: Scope) -> list[Placed]:
        """Return the rules that mark a request that was not inspected as a whole."""
        rest: Value = (Target.URI, None, "")
        marks = self._by_number.get(_NOT_INSPECTED, ())
        return [each for each in marks if scope.covers(each.rule) and is_target(each, rest, scope)]

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
            and not scope.spares(placed.rule, Target.URI, None)
            and (
                (number is not None and hits is not None) or placed.test(transforms.apply(placed.rule.transforms, uri))
            )
        ]
