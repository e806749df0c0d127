"""The access that a request needs: the first access rule that decides, by every reading of the path. No I/O.

A request at a host without rules costs one look-up. At any other, only the rules are judged whose paths begin like the
path asked for, whatever the number of rules.
"""

from collections.abc import Iterable, Sequence

from gatewall.engine.access_rules import paths
from gatewall.engine.access_rules.conditions import CompiledRule, RequestFacts
from gatewall.engine.access_rules.index import RuleIndex, all_rules, near
from gatewall.engine.access_rules.rules import AccessRule
from gatewall.engine.hosts import STRICTNESS, Access
from gatewall.engine.paths import readings_of
from gatewall.engine.values import value

_RANK = {access: rank for rank, access in enumerate(STRICTNESS)}
_SEEN = frozenset({"uri", "method"})
_WITH_CLIENT = _SEEN | {"for"}


@value
class AccessOutcome:
    """The access that a request needs, the rule that asks for it, and the rules that limit its rate.

    ``rule`` is None if no rule decided: then ``level`` is the domain's.
    """

    level: Access
    rule: AccessRule | None = None
    rates: tuple[AccessRule, ...] = ()


_WITHOUT_RULES = {access: AccessOutcome(access) for access in Access}
_ANY_PATH = "/"


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
        if "uri" in unseen or not any(index.has_paths for index in indexes):
            return _walk(facts, _ANY_PATH, all_rules(indexes), unseen, otherwise)
        outcomes = [_walk(facts, path, near(indexes, path), unseen, otherwise) for path in facts.path_readings]
        return outcomes[0] if len(outcomes) == 1 else _strictest(outcomes)

    def indexes_of(self, domain: str | None) -> list[RuleIndex]:
        """Return the indexes of the rules for the hosts of a domain; None is a host that belongs to no domain."""
        own, everywhere = self._by_domain.get(domain or ""), self._everywhere
        return [index for index in (own, everywhere) if index is not None]

    def of_domain(self, domain: str | None) -> tuple[AccessRule, ...]:
        """Return the rules for the hosts of a domain, in order."""
        indexes = self.indexes_of(domain)
        return tuple([rule.rule for rule in all_rules(indexes)]) if indexes else ()


def trimmed_readings(path: str) -> tuple[str, ...]:
    """Return the readings of a path, without the slashes at their end."""
    return tuple(dict.fromkeys([paths.trimmed(reading) for reading in readings_of(path)]))


def unseen_parts(facts: RequestFacts) -> frozenset[str]:
    """Return the parts of the request that the proxy did not show; ``for`` if the client's address is the proxy's."""
    request = facts.request
    return (_SEEN if request.allowlist_applies else _WITH_CLIENT) - request.visible


def _walk(
    facts: RequestFacts, path: str, rules: Sequence[CompiledRule], unseen: frozenset[str], otherwise: Access
) -> AccessOutcome:
    """Return the access by one reading.

    A rule with a condition on a part that the proxy did not show counts only if it is stricter than the rule that
    decides without it.
    """
    strictest: AccessOutcome | None = None
    decided = _WITHOUT_RULES[otherwise]
    for rule in rules:
        if not rule.holds(facts, path, unseen):
            continue
        access = _access_of(rule, facts)
        if access is None:
            continue
        outcome = AccessOutcome(access, rule.rule, (rule.rule,) if rule.rule.rate_per_minute else ())
        if unseen.isdisjoint(rule.parts):
            decided = outcome
            break
        if strictest is None or _RANK[access] > _RANK[strictest.level]:
            strictest = outcome
    return strictest if strictest and _RANK[strictest.level] > _RANK[decided.level] else decided


def _access_of(rule: CompiledRule, facts: RequestFacts) -> Access | None:
    """Return the access that a rule asks for, None if the subject is not meant.

    Nobody proved: whom the rule means cannot be judged, so the visitor has to sign in.
    """
    if not rule.is_about_subjects:
        return rule.rule.access
    subject = facts.subject
    if subject is None:
        return Access.AUTHENTICATED
    return rule.rule.access if rule.means(subject) else None


def _strictest(outcomes: Sequence[AccessOutcome]) -> AccessOutcome:
    """Return the strictest outcome, the first of equals, with the rates of all."""
    found = max(outcomes, key=lambda outcome: _RANK[outcome.level])
    rates = {rule.id: rule for outcome in outcomes for rule in outcome.rates}
    return AccessOutcome(found.level, found.rule, tuple(rates.values()))
