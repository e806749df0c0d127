"""Decide a request: ``evaluate()`` and ``explain()`` run the same steps, and the first verdict counts.

The steps and the reasons for their order are in ``gatewall/engine/steps.py`` and ``docs/decisions.md``.
"""

from dataclasses import dataclass

from gatewall.engine.facts import Facts
from gatewall.engine.model import AccessRequest, Decision, Effect, Reason, Verdict
from gatewall.engine.ports import Ports
from gatewall.engine.rule_match import RuleMatch
from gatewall.engine.snapshot import PolicySnapshot
from gatewall.engine.steps import STEPS

CANNOT_DECIDE = Decision(Verdict(Effect.ERROR, Reason.CANNOT_DECIDE))
"""The decision without a policy, without a verdict of any step, or after a fault in our own code."""

_FUNCTIONS = tuple(step.function for step in STEPS)


def evaluate(request: AccessRequest, policy: PolicySnapshot, ports: Ports) -> Decision:
    """Return the decision: the first verdict of the steps; without one, the request is refused."""
    return decide(Facts(request, policy, ports))


def decide(facts: Facts) -> Decision:
    """Return the decision from these facts of a request, as ``evaluate`` does."""
    for function in _FUNCTIONS:
        if verdict := function(facts):
            return _decision(facts, verdict)
    return CANNOT_DECIDE


@dataclass(frozen=True, slots=True)
class StepResult:
    """Result of one step: its verdict (None: does not apply) and whether it decided.

    ``reached`` is False after the deciding step, ``asked`` is False if the step could not run because the request
    is malformed.
    ``rules`` are the WAF rules that matched, enforced or not.
    """

    step: str
    verdict: Verdict | None
    decided: bool
    reached: bool
    asked: bool
    rules: tuple[RuleMatch, ...]


def explain(request: AccessRequest, policy: PolicySnapshot, ports: Ports) -> tuple[Decision, tuple[StepResult, ...]]:
    """Return the decision and the result of every step, including those after the deciding one."""
    facts = Facts(request, policy, ports)
    decision: Decision | None = None
    results = []
    for step in STEPS:
        reached = decision is None
        asked = reached or not request.fault
        verdict = step.function(facts) if asked else None
        rules = facts.rule_matches if asked and "rule_matches" in step.facts else ()
        decides = verdict is not None and reached
        if verdict is not None and decides:
            decision = _decision(facts, verdict)
        results.append(StepResult(step.name, verdict, decides, reached, asked, rules))
    return decision or CANNOT_DECIDE, tuple(results)


def _decision(facts: Facts, verdict: Verdict) -> Decision:
    # A valid credential fills the identity headers even where none was required, and keeps WAF matches from leading to
    # a ban. No other refusal looks up a subject: a blocked client must not be able to make us verify signatures.
    looks_up = verdict.effect is Effect.ALLOW or verdict.reason is Reason.WAF_RULE
    subject = facts.subject if looks_up else facts.known_subject
    return Decision(verdict, subject, facts.country_code, facts.known_rule_matches)
