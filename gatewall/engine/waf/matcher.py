"""WAF rules of a policy, built-in and custom: match them against a request. No I/O."""

from collections.abc import Iterable, Sequence
from operator import attrgetter

from gatewall.engine.model import AccessRequest
from gatewall.engine.shared import Shared
from gatewall.engine.values import value
from gatewall.engine.waf.builtin_matcher import BuiltinMatcher
from gatewall.engine.waf.custom_matcher import CustomMatcher
from gatewall.engine.waf.patterns import Placed
from gatewall.engine.waf.plain_target import Asked
from gatewall.engine.waf.quiet import is_quiet_in
from gatewall.engine.waf.reading import LONG_URI
from gatewall.engine.waf.rules import Region, Target, WafRule
from gatewall.engine.waf.scanning import Scanners
from gatewall.engine.waf.scope import Scope, name_of, target_of

DISTRUSTED = "hyperscan failed its self-test; RE2 is used instead"
WAITING = "patterns are being compiled; RE2 is used until then"


_ELSEWHERE: tuple[Region, None] = (Target.URI, None)
"""Place of a match outside of single values: in the raw URI, or the mark of a request that was not inspected."""


@value
class Hit:
    """A matching rule, and the value that matched first: its part, and name (argument, header, cookie, JSON path)."""

    rule: WafRule
    target: Target
    name: str | None


class RuleSet:
    """Compiled rules; the ``waf`` of a policy snapshot."""

    def __init__(self, rules: Iterable[WafRule], scanners: Scanners | None = None) -> None:
        """Compile rules in reporting order; RE2 matches until ``scanners`` has a scanner. Raises PatternRefused."""
        self.rules = tuple(rules)
        placed = list(enumerate(self.rules))
        builtin = [each for each in placed if each[1].builtin]
        custom = [each for each in placed if not each[1].builtin]
        self._builtin = BuiltinMatcher(builtin, scanners) if builtin else None
        self._custom = CustomMatcher(custom, scanners) if custom else None
        self._scanners = scanners

    @property
    def engine(self) -> str:
        """Scan engine: ``hyperscan``, or ``re2`` as the fallback; empty without rules."""
        if self._builtin:
            return self._builtin.scanner.name
        if self._custom:
            return self._custom.scanner.name if self._custom.scanner else "re2"
        return ""

    @property
    def apart(self) -> Sequence[WafRule]:
        """Rules that RE2 tests separately: hyperscan does not accept their patterns."""
        return self._custom.apart if self._custom else ()

    def check(self) -> str:
        """Self-test the engine with the canaries; return what is wrong, or empty. RE2 replaces a failing engine."""
        if self._builtin:
            self._builtin.check()
            if self._builtin.is_distrusted:
                return DISTRUSTED
        if self._scanners is None or not self._is_waiting():
            return ""
        return self._scanners.trouble or WAITING

    def _is_waiting(self) -> bool:
        """True if a requested scanner is not ready yet."""
        builtin, custom = self._builtin, self._custom
        if builtin and builtin.is_waiting:
            return True
        return custom is not None and custom.is_worth_a_scan and custom.scanner is None

    def is_quiet(self, asked: Asked, shared: Shared) -> bool:
        """True only if certainly no built-in rule matches a request of this head; False if the scan lacks a rule."""
        uri, builtin = asked.uri, self._builtin
        if len(uri) > LONG_URI or "%" in uri or "\\" in uri:
            return False
        return builtin is None or (not builtin.others and is_quiet_in(asked, shared, builtin.scanner))

    @property
    def has_custom(self) -> bool:
        """True if there are custom rules."""
        return self._custom is not None

    def matches_custom(self, request: AccessRequest, domain: str | None) -> bool:
        """True if a custom rule matches a request to this registered domain."""
        return self._custom is not None and bool(self._custom.matches(request, Scope(request, domain)))

    def inspect(self, request: AccessRequest, domain: str | None, stop_at: int = 0) -> tuple[WafRule, ...]:
        """Return the rules that match a request to this registered domain.

        With ``stop_at``, the refusal threshold, possibly only some rules that reach it: matching may stop early.
        """
        return tuple([hit.rule for hit in self.hits(request, domain, stop_at)])

    def hits(self, request: AccessRequest, domain: str | None, stop_at: int = 0) -> tuple[Hit, ...]:
        """Return the rules that match, as ``inspect`` does, and where each matched first."""
        builtin = self._builtin
        if builtin and request.shared is None and builtin.is_harmless(request):
            builtin = None  # ``matches`` caches results that requests of one head share
        if not (builtin or self._custom):
            return ()
        found, scope = [], Scope(request, domain)
        if builtin and stop_at and len(request.uri) > LONG_URI:
            found = builtin.refused_at_once(request, scope, stop_at)
        if not found:
            if builtin:
                found = builtin.matches(request, scope, stop_at)
            if self._custom:
                found = found + self._custom.matches(request, scope)
        if not found:
            return ()
        found.sort(key=_position)
        return tuple([_hit(each, scope) for each in found])


def _hit(placed: Placed, scope: Scope) -> Hit:
    region, name = scope.hits.get(placed.position, _ELSEWHERE)
    return Hit(placed.rule, target_of(region, name), name_of(name))


_position = attrgetter("position")
