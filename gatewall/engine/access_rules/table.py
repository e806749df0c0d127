"""Access of a request: the first access rule that decides, for every reading of its path. No I/O.

A request at a host without rules costs one look-up. At other hosts, only the rules whose paths start like the
requested path are judged, whatever the number of rules.
"""

from collections.abc import Iterable, Sequence

from gatewall.engine.access_rules import paths
from gatewall.engine.access_rules.conditions import CompiledRule, RequestFacts
from gatewall.engine.access_rules.index import RuleIndex, all_rules, near
from gatewall.engine.access_rules.rules import AccessRule
from gatewall.engine.expiry import is_live
from gatewall.engine.hosts import STRICTNESS, Access
from gatewall.engine.paths import readings_of
from gatewall.engine.values import value

_RANK = {access: rank for rank, access in enumerate(STRICTNESS)}
_SEEN = frozenset({"uri", "method"})
_WITH_CLIENT = _SEEN | {"for"}
_PATH = frozenset({"uri"})


@value
class AccessOutcome:
    """The access that a request needs, the rule that requires it, and the rules that limit its rate.

    ``rule`` is None if no rule decided: then ``level`` is the domain's.
    """

    level: Access
    rule: AccessRule | None = None
    rates: tuple[AccessRule, ...] = ()


@value
class Met:
    """The access by one reading of the path: that of a rule, or the domain's without a rule."""

    level: Access
    rule: CompiledRule | None = None

    @property
    def order(self) -> tuple[int, bool, int]:
        """Sort key; the greatest decides: the strictest access, then a rule that denies everybody, then the first."""
        rule = self.rule
        if rule is None:
            return _RANK[self.level], False, _LAST
        return _RANK[self.level], self.level is Access.DENIED and not rule.is_about_subjects, -rule.position


_WITHOUT_RULES = {access: AccessOutcome(access) for access in Access}
_LAST = -(10**6)
_ANY_PATH = "/"
MAX_SEGMENTS = 1_000
"""Limit for all readings of one path, because a glob is compared with each. Ordinary paths have a few dozen."""


class AccessRuleTable:
    """The enabled access rules in their order, indexed by domain and path."""

    def __init__(self, rules: Iterable[AccessRule] = ()) -> None:
        """Raises ValueError for an unknown time zone."""
        self.rules = tuple(rules)
        by_domain: dict[str, list[CompiledRule]] = {}
        everywhere: list[CompiledRule] = []
        for position, rule in enumerate(self.rules):
            compiled = CompiledRule(rule, position)
            for there in [by_domain.setdefault(name, []) for name in rule.domains] or [everywhere]:
                there.append(compiled)
        self._everywhere = RuleIndex(everywhere) if everywhere else None
        self._by_domain = {name: RuleIndex(there) for name, there in by_domain.items()}

    def outcome(self, facts: RequestFacts, otherwise: Access) -> AccessOutcome:
        """Return the access that a request needs: the strictest of all readings of its path.

        ``otherwise`` is the access where no rule decides.
        """
        indexes = self.indexes_of(facts.domain_name)
        if not indexes:
            return _WITHOUT_RULES[otherwise]
        unseen = unseen_parts(facts)
        by_path = "uri" not in unseen and (indexes[0].has_paths or indexes[-1].has_paths)
        readings = facts.path_readings if by_path else None
        if readings is None:
            if by_path:
                unseen |= _PATH  # too many readings: as if the path had not been shown
            return _outcome(walk(facts, _ANY_PATH, all_rules(indexes), unseen, otherwise))
        met: list[Met] = []
        for path in readings:
            met += walk(facts, path, near(indexes, path), unseen, otherwise)
        return _outcome(met)

    def indexes_of(self, domain: str | None) -> list[RuleIndex]:
        """Return the indexes of the rules for the hosts of a domain; None is a host that belongs to no domain."""
        own, everywhere = self._by_domain.get(domain or ""), self._everywhere
        if own is None:
            return [] if everywhere is None else [everywhere]
        return [own] if everywhere is None else [own, everywhere]

    def token_headers(self, domain: str | None, at: float) -> frozenset[str]:
        """Return the headers that may hold an app token at the hosts of a domain, by the rules that are live now."""
        names = [rule.app_token_header for rule in self.of_domain(domain) if is_live(rule.expires_at, at)]
        return frozenset(filter(None, names))

    def of_domain(self, domain: str | None) -> tuple[AccessRule, ...]:
        """Return the rules for the hosts of a domain, in order."""
        indexes = self.indexes_of(domain)
        return tuple([rule.rule for rule in all_rules(indexes)]) if indexes else ()


def trimmed_readings(path: str) -> tuple[str, ...] | None:
    """Return the readings of a path, without trailing slashes; None if there are too many readings or segments."""
    found = readings_of(path)
    if found is None or sum([reading.count("/") for reading in found]) > MAX_SEGMENTS:
        return None
    if len(found) == 1:
        return (paths.trimmed(found[0]),)
    return tuple(dict.fromkeys([paths.trimmed(reading) for reading in found]))


def unseen_parts(facts: RequestFacts) -> frozenset[str]:
    """Return the parts of the request that the proxy did not show; ``for`` if the client's address is the proxy's."""
    request = facts.request
    return (_SEEN if request.allowlist_applies else _WITH_CLIENT) - request.visible


def walk(
    facts: RequestFacts, path: str, rules: Sequence[CompiledRule], unseen: frozenset[str], otherwise: Access
) -> list[Met]:
    """Return the access by one reading of the path: that of the rule that decides, or the domain's.

    It is followed by every earlier rule that is stricter and has a condition on a part that the proxy did not show.
    """
    perhaps: list[Met] = []
    decided = Met(otherwise)
    for rule in rules:
        if not rule.holds(facts, path, unseen):
            continue
        level = _level_of(rule, facts)
        if level is None:
            continue
        if unseen.isdisjoint(rule.parts):
            decided = Met(level, rule)
            break
        perhaps.append(Met(level, rule))
    if perhaps:
        return [decided, *(met for met in perhaps if _RANK[met.level] > _RANK[decided.level])]
    return [decided]


def _level_of(rule: CompiledRule, facts: RequestFacts) -> Access | None:
    """Return the access that a rule requires, None if it is not about this subject.

    Without a subject, a rule about subjects cannot be judged, so the visitor has to sign in: it is never public.
    """
    level = rule.rule.access
    if not rule.is_about_subjects:
        return level
    subject = facts.subject
    if subject is None:
        return Access.AUTHENTICATED if level is Access.PUBLIC else level
    return level if rule.means(subject) else None


def _outcome(met: Sequence[Met]) -> AccessOutcome:
    """Return the outcome of the accesses by all readings."""
    if len(met) == 1:
        rule = met[0].rule
        if rule is None:
            return _WITHOUT_RULES[met[0].level]
        return AccessOutcome(met[0].level, rule.rule, (rule.rule,) if rule.rule.rate_per_minute else ())
    found = max(met, key=lambda each: each.order)
    limiting = {each.rule.position: each.rule.rule for each in met if each.rule and each.rule.rule.rate_per_minute}
    rates = tuple([limiting[position] for position in sorted(limiting)])
    return AccessOutcome(found.level, found.rule.rule if found.rule else None, rates)
