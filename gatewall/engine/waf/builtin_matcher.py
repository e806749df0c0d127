"""Match the built-in rules: one multi-pattern scan over all values of a request. No I/O.

The scan gives each pattern's end of match, and so the value. If the rule does not target that value, or excludes it,
RE2 tests the rule's other values one by one.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate

from gatewall.engine.model import AccessRequest, Action
from gatewall.engine.waf import transforms
from gatewall.engine.waf.builtin import BUILTIN_RULES
from gatewall.engine.waf.builtin.regions import IN_TEXT, regions_of
from gatewall.engine.waf.canaries import misread, passes_canaries
from gatewall.engine.waf.lines import on_one_line
from gatewall.engine.waf.patterns import PatternRefused, Placed
from gatewall.engine.waf.reading import CUT, beginning_of, raw_uri, values_of
from gatewall.engine.waf.rules import BodyRegion, Category, Operator, Region, Target, WafRule
from gatewall.engine.waf.scanning import Hit, OneByOne, Scanner, Scanners
from gatewall.engine.waf.scope import Scope
from gatewall.engine.waf.values import Value

PATTERNS = tuple([on_one_line(rule.pattern).encode("ascii") for rule in BUILTIN_RULES])
"""All patterns in one database, whichever rules are on."""
TEXT_PATTERNS = tuple([PATTERNS[number] for number in IN_TEXT])
"""The patterns for texts and files: a quarter of the cost of all."""
LONG_TEXT = 8_192
BEGINNING_OF_TEXT = 2_048
"""Of longer texts, this much is scanned first; the scan of the whole stops where the matches suffice."""
_EVERY = range(len(PATTERNS))
_IN_TEXT = frozenset(IN_TEXT)
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
        self.text_scanner: Scanner = OneByOne(TEXT_PATTERNS)
        self.is_distrusted = False
        self._by_number: dict[int, list[Placed]] = {}
        self._others: list[Placed] = []
        self._of_uri: list[tuple[int | None, Placed]] = []
        self._of_forms: list[Placed] = []
        for position, rule in rules:
            placed = Placed.of(position, rule, regions_of(rule))
            number = _NUMBERS.get(rule.pattern)
            if rule.transforms or rule.operator is not Operator.REGEX or _is_retargeted(number, placed):
                number = None
            if number is None:
                self._others.append(placed)  # edited by the operator, or of another release
            else:
                self._by_number.setdefault(number, []).append(placed)
                if BodyRegion.RAW in placed.targets:
                    self._of_forms.append(placed)
            if Target.URI in rule.targets:
                self._of_uri.append((number, placed))
        if not passes_canaries(self.scanner):
            raise PatternRefused("RE2 failed the WAF self-test: unexpected behavior of this RE2 version")
        if scanners is not None:
            scanners.want(PATTERNS, self._use)
            scanners.want(TEXT_PATTERNS, self._use_for_texts)

    def _use(self, scanner: Scanner) -> None:
        """Switch to the scanner if it passes the canaries, else keep the current one."""
        if not scanner.left_out and passes_canaries(scanner):
            self.scanner = scanner
        else:
            self.is_distrusted = True

    def _use_for_texts(self, scanner: Scanner) -> None:
        if _reads_as_re2(scanner):
            self.text_scanner = scanner
        else:
            self.is_distrusted = True

    def check(self) -> None:
        """Fall back to RE2 if a scanner fails the canaries."""
        if not (isinstance(self.scanner, OneByOne) or passes_canaries(self.scanner)):
            self.scanner = OneByOne(PATTERNS)
            self.is_distrusted = True
        if not (isinstance(self.text_scanner, OneByOne) or _reads_as_re2(self.text_scanner)):
            self.text_scanner = OneByOne(TEXT_PATTERNS)
            self.is_distrusted = True

    def matches(self, request: AccessRequest, scope: Scope, stop_at: int = 0) -> list[Placed]:
        """Return the matching rules, unordered; with ``stop_at``, only those outside of texts if they suffice."""
        values = values_of(request)
        singles, texts = _split(values) if values.has_texts else (values, {})
        uri = raw_uri(request)
        found = self._found(self.scanner, _EVERY, singles, scope)
        if uri:
            found += self._matches_of_uri(uri.encode("latin-1"), scope)
        for region, group in texts.items():
            if stop_at and self._suffices(found, stop_at):
                found += self._marks(scope)
                break
            if region is BodyRegion.RAW:
                found += [each for each in self._of_forms if scope.covers(each.rule) and _holds(each, group, scope)]
                continue
            if stop_at and sum([len(text) for _, _, text in group]) > LONG_TEXT:
                found += self._in_beginning(group, scope)
                if not self._suffices(found, stop_at):
                    found += self._in_long_texts(group, scope, found, stop_at)
                if self._suffices(found, stop_at):
                    found += self._marks(scope)
                    break
            else:
                found += self._found(self.text_scanner, IN_TEXT, group, scope)
        found += [each for each in self._others if scope.covers(each.rule) and _holds(each, values, scope)]
        return list({each.position: each for each in found}.values())

    def _found(self, scanner: Scanner, numbers: Sequence[int], values: list[Value], scope: Scope) -> list[Placed]:
        """Return the rules that match one of the values, by one scan; by one more of each target if there is doubt."""
        hits = scanner.scan("\n".join([value for _, _, value in values]).encode("latin-1"))
        return self._of_hits(hits, scanner, numbers, values, scope) if hits else []

    def _in_long_texts(self, values: list[Value], scope: Scope, found: list[Placed], stop_at: int) -> list[Placed]:
        """Return the rules that match one of the texts, by one scan that ends when they suffice with those found."""
        ends = _ends(values)
        so_far = list(found)

        def is_enough(hit: Hit) -> bool:
            number, end = hit
            value = values[bisect_left(ends, end)]
            rules = self._by_number.get(IN_TEXT[number], ())
            so_far.extend([each for each in rules if scope.covers(each.rule) and _is_target(each, value, scope)])
            return self._suffices(so_far, stop_at)

        hits = self.text_scanner.scan_until("\n".join([text for _, _, text in values]).encode("latin-1"), is_enough)
        return self._of_hits(hits, self.text_scanner, IN_TEXT, values, scope) if hits else []

    def _of_hits(
        self, hits: list[Hit], scanner: Scanner, numbers: Sequence[int], values: list[Value], scope: Scope
    ) -> list[Placed]:
        ends = _ends(values)
        found: list[Placed] = []
        doubtful: list[Placed] = []
        for number, end in hits:
            for placed in self._by_number.get(numbers[number], ()):
                if scope.covers(placed.rule):
                    is_found = _is_hit(placed, values[bisect_left(ends, end)], scope)
                    (found if is_found else doubtful).append(placed)
        return found + self._confirmed(scanner, numbers, values, doubtful, scope) if doubtful else found

    def _confirmed(
        self, scanner: Scanner, numbers: Sequence[int], values: list[Value], doubtful: list[Placed], scope: Scope
    ) -> list[Placed]:
        """Return the rules that match a value which they target: the hit of the scan was in another value."""
        found = [each for each in doubtful if each.rule.exclusions and _holds(each, values, scope)]
        waiting = {each for each in doubtful if not each.rule.exclusions}
        by_region: dict[Region, list[str]] = {}
        for region, _, text in values:
            by_region.setdefault(region, []).append(text)
        for region, texts in by_region.items():
            if len(by_region) > 1 and any(region in each.targets for each in waiting):
                hits = scanner.scan("\n".join(texts).encode("latin-1"))
                matching = {each for number, _ in hits for each in self._by_number.get(numbers[number], ())}
                now = {each for each in waiting if region in each.targets and each in matching}
                scope.hits.update({each.position: (region, None) for each in now})
                found += now
                waiting -= now
        return found

    def refused_at_once(self, request: AccessRequest, scope: Scope, threshold: int) -> list[Placed]:
        """Return rules that match the beginning of a long URI if they suffice to refuse, else none.

        They match the whole request, too. ``protocol-not-inspected`` marks that the rest was not inspected.
        """
        values = beginning_of(request)
        text = "\n".join([value for _, _, value in values]).encode("latin-1")
        return self._enough(values, text, scope, threshold)

    def _enough(self, values: list[Value], text: bytes, scope: Scope, threshold: int) -> list[Placed]:
        """Return the rules that match a cut text of values if they reach the threshold, with a mark, else none."""
        found = self._in_cut(self.scanner, _EVERY, values, text, scope)
        return found + self._marks(scope) if self._suffices(found, threshold) else []

    def _in_beginning(self, values: list[Value], scope: Scope) -> list[Placed]:
        """Return the rules that match the beginning of long texts: attacks that suffice there cost no more."""
        text = "\n".join([value for _, _, value in values])[:BEGINNING_OF_TEXT].encode("latin-1")
        return self._in_cut(self.text_scanner, IN_TEXT, values, text, scope)

    def _in_cut(
        self, scanner: Scanner, numbers: Sequence[int], values: list[Value], text: bytes, scope: Scope
    ) -> list[Placed]:
        """Return the rules that match the joined values, cut to this text, before its last characters."""
        ends = _ends(values)
        return [
            placed
            for number, end in scanner.scan(text)
            if end <= len(text) - CUT
            for placed in self._by_number.get(numbers[number], ())
            if scope.covers(placed.rule) and _is_hit(placed, values[bisect_left(ends, end)], scope)
        ]

    @staticmethod
    def _suffices(found: list[Placed], threshold: int) -> bool:
        """True if the scores of enforced rules of one category reach the threshold."""
        scores: Counter[Category] = Counter()
        for placed in set(found):  # a rule may match in several texts
            scores[placed.rule.category] += placed.rule.score if placed.rule.action is _BLOCK else 0
        return max(scores.values(), default=0) >= threshold

    def _marks(self, scope: Scope) -> list[Placed]:
        """Return the rules that mark a request that was not inspected as a whole."""
        rest: Value = (Target.URI, None, "")
        marks = self._by_number.get(_NOT_INSPECTED, ())
        return [each for each in marks if scope.covers(each.rule) and _is_target(each, rest, scope)]

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


def _is_retargeted(number: int | None, placed: Placed) -> bool:
    """True if the operator added the body to the targets of a rule that the scan of texts leaves out."""
    return number not in _IN_TEXT and BodyRegion.TEXT in placed.targets


def _reads_as_re2(scanner: Scanner) -> bool:
    """True if a scanner of the patterns for texts reads the canaries as RE2 does."""
    return not (scanner.left_out or misread(scanner, TEXT_PATTERNS))


def _ends(values: list[Value]) -> list[int]:
    """Return the end offset of each value in the joined text."""
    return list(accumulate([len(value) + 1 for _, _, value in values], initial=-1))[1:]


def _split(values: Sequence[Value]) -> tuple[list[Value], dict[Region, list[Value]]]:
    """Return the values that are inspected by all rules, and the texts by region."""
    singles: list[Value] = []
    texts: dict[Region, list[Value]] = {}
    for value in values:
        if value[0].__class__ is BodyRegion:
            texts.setdefault(value[0], []).append(value)
        else:
            singles.append(value)
    return singles, texts


def _holds(placed: Placed, values: list[Value], scope: Scope) -> bool:
    """True if any targeted value matches."""
    for value in values:
        if _is_target(placed, value, scope) and placed.test(
            transforms.apply(placed.rule.transforms, value[2].encode("latin-1"))
        ):
            scope.hits[placed.position] = value[:2]
            return True
    return False


def _is_hit(placed: Placed, value: Value, scope: Scope) -> bool:
    """True if the rule targets a value in which its pattern matched; notes the first such value."""
    if _is_target(placed, value, scope):
        scope.hits.setdefault(placed.position, value[:2])
        return True
    return False


def _is_target(placed: Placed, value: Value, scope: Scope) -> bool:
    target, name, _ = value
    return target in placed.targets and not (placed.rule.exclusions and scope.spares(placed.rule, target, name))
