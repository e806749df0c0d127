"""Dry-run the WAF on a hypothetical request, with the gate's own parser, rules and step. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gatewall.engine.facts import Facts
from gatewall.engine.model import AccessRequest, Action
from gatewall.engine.ports import Ports
from gatewall.engine.snapshot import PolicySnapshot
from gatewall.engine.steps import waf_rules_match
from gatewall.engine.waf.matcher import RuleSet
from gatewall.engine.waf.rules import WafRule
from gatewall.gate import subrequest
from gatewall.kernel.clientip import TrustedProxies
from gatewall.replay.explanation import MadeUpRequest, as_subrequest
from gatewall.replay.rule_places import RulePlaces

_PROXY = TrustedProxies.parse(["127.0.0.1"])


@dataclass(frozen=True, slots=True)
class Draft:
    """An unsaved rule that replaces the rule with this id; ``rule`` is None if it is switched off."""

    rule: WafRule | None
    replaces: int | None = None


@dataclass(frozen=True, slots=True)
class Trial:
    """The matching rules, enforced or not, and whether the WAF would refuse the request.

    ``counts``: ids of the rules whose score counts, empty in mode ``monitor`` or ``off``. ``fault``: what is malformed;
    such a request is not inspected.
    """

    fault: str
    domain: str | None
    rules: tuple[WafRule, ...]
    places: RulePlaces = field(repr=False)
    counts: frozenset[int] = frozenset()
    blocked: bool = False

    @property
    def scores(self) -> list[dict[str, str | int]]:
        """Scores of blocking and of monitoring rules by category, in alphabetical order."""
        return [
            {"category": each, **{action.value: self._score(each, action) for action in Action}}
            for each in sorted({rule.category.value for rule in self.rules})
        ]

    def _score(self, category: str, action: Action) -> int:
        return sum(rule.score for rule in self.rules if rule.category == category and rule.action is action)


class _TriedFacts(Facts):
    """Facts of one request under a policy with a rule added or replaced."""

    def __init__(self, request: AccessRequest, policy: PolicySnapshot, ports: Ports, draft: Draft | None) -> None:
        super().__init__(request, policy, ports)
        found = self.policy.waf.inspect(request, self.domain_name)
        if draft is not None:
            found = tuple(rule for rule in found if rule.id != draft.replaces)
            if draft.rule is not None:
                found += RuleSet([draft.rule]).inspect(request, self.domain_name)
        self._found = found

    def matching_rules(self) -> Sequence[WafRule]:
        return self._found


def try_rules(
    policy: PolicySnapshot, made_up: MadeUpRequest, body: bytes | None, draft: Draft | None, ports: Ports, at: float
) -> Trial:
    """Return which rules of this policy, and of a draft, match the request; ``ports`` must count and cache nothing."""
    request = subrequest.forward(as_subrequest(made_up, _PROXY), _PROXY, at)
    if request.fault:
        return Trial(request.fault, None, (), RulePlaces((), None, None))
    if body is not None:
        request = replace(request, body=body)
    facts = _TriedFacts(request, policy, ports, draft)
    rules = tuple(facts.matching_rules())
    places = RulePlaces(rules, request, facts.domain_name)
    counts = frozenset(match.rule_id for match in facts.rule_matches if match.enforced)
    return Trial("", facts.domain_name, rules, places, counts, waf_rules_match(facts) is not None)
