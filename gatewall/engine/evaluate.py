"""The decision order, once: ``evaluate()`` and ``explain()`` read the same table.

Each step returns its verdict, or None where it does not apply; the first verdict counts.

| Step | Refuses or admits | Reasons |
|---|---|---|
| request_is_malformed | 403 | request-malformed |
| client_is_blocked | 403 | client-blocked |
| host_is_not_authorized | 403 | host-not-authorized |
| client_is_allowed | 200 | client-allowed |
| country_is_blocked | 403 | country-blocked |
| waf_rules_match | 403 | waf-rule |
| inspected_client_is_allowed | 200 | client-allowed |
| client_is_over_rate | 403 | client-rate-limited |
| host_is_public | 200 | host-public |
| credential_is_missing | 401 | credential-missing |
| credential_is_invalid | 401 | credential-invalid |
| host_is_not_in_scope | 403 | host-not-in-scope |
| second_factor_is_missing | 401 | second-factor-required |
| subject_is_valid | 200 | session-valid, git-token-valid, license-valid |

Why the steps stand in this order is in ``docs/decisions.md``.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from gatewall.engine.facts import Facts
from gatewall.engine.hosts import Access
from gatewall.engine.model import (
    SECOND_FACTORS,
    AccessRequest,
    DecidedBy,
    Decision,
    Effect,
    Reason,
    RuleMatch,
    SubjectKind,
    Verdict,
)
from gatewall.engine.ports import Ports
from gatewall.engine.snapshot import DomainsMode, EnforcementMode, PolicySnapshot, UnknownCountry
from gatewall.engine.special_addresses import is_public

CANNOT_DECIDE = Decision(Verdict(Effect.ERROR, Reason.CANNOT_DECIDE))
"""The answer when there is no policy, no answer of a step, or a fault in our own code."""


def request_is_malformed(facts: Facts) -> Verdict | None:
    """The proxy sent something that has two readings; guessing one has been a bypass before."""
    if facts.request.fault:
        return Verdict(Effect.DENY, Reason.REQUEST_MALFORMED)
    return None


def client_is_blocked(facts: Facts) -> Verdict | None:
    """The most specific list entry of the client is a blocklist entry."""
    if entry := facts.standing.blocked:
        return Verdict(Effect.DENY, Reason.CLIENT_BLOCKED, DecidedBy("ip-black-list", entry.id))
    return None


def host_is_not_authorized(facts: Facts) -> Verdict | None:
    """Nobody registered the host where that is asked for, or its domain is shut."""
    domain = facts.domain
    if domain is None:
        if facts.policy.settings.authorized_domains_mode is DomainsMode.REGISTERED:
            return Verdict(Effect.DENY, Reason.HOST_NOT_AUTHORIZED)
        return None
    if domain.access is Access.DENIED:
        return Verdict(Effect.DENY, Reason.HOST_NOT_AUTHORIZED, DecidedBy("authorized-domains", domain.id))
    return None


def client_is_allowed(facts: Facts) -> Verdict | None:
    """The allowlist lets the client in without looking further."""
    return _allowed_client(facts, inspect=False)


def country_is_blocked(facts: Facts) -> Verdict | None:
    """The country of the client is blocked, or unknown where that is not good enough."""
    if facts.policy.settings.geo_mode is not EnforcementMode.BLOCK:
        return None
    code = facts.country_code
    if code is None:
        refused = facts.policy.settings.unknown_country is UnknownCountry.BLOCK
        if refused and is_public(facts.request.client):
            return Verdict(Effect.DENY, Reason.COUNTRY_BLOCKED)
        return None
    if rule := facts.policy.blocked_countries.get(code):
        return Verdict(Effect.DENY, Reason.COUNTRY_BLOCKED, DecidedBy("geo-block-rules", rule.id))
    return None


def waf_rules_match(facts: Facts) -> Verdict | None:
    """The scores of enforced matches of one category reach the threshold."""
    scores: defaultdict[str, int] = defaultdict(int)
    for match in facts.rule_matches:
        if match.enforced:
            scores[match.category] += match.score
            if scores[match.category] >= facts.policy.settings.waf_threshold:
                return Verdict(Effect.DENY, Reason.WAF_RULE, DecidedBy("waf-rules", match.rule_id))
    return None


def inspected_client_is_allowed(facts: Facts) -> Verdict | None:
    """The allowlist lets the client in, now that country and WAF had no objection."""
    return _allowed_client(facts, inspect=True)


def client_is_over_rate(facts: Facts) -> Verdict | None:
    """The client asks more often than the settings allow."""
    if seconds := facts.seconds_over_rate:
        return Verdict(Effect.DENY, Reason.CLIENT_RATE_LIMITED, retry_after_seconds=seconds)
    return None


def host_is_public(facts: Facts) -> Verdict | None:
    """The domain asks for no credential."""
    if facts.domain and facts.domain.access is Access.PUBLIC:
        return Verdict(Effect.ALLOW, Reason.HOST_PUBLIC, DecidedBy("authorized-domains", facts.domain.id))
    return None


def credential_is_missing(facts: Facts) -> Verdict | None:
    """No credential was sent."""
    if not facts.request.credentials:
        return Verdict(Effect.CHALLENGE, Reason.CREDENTIAL_MISSING)
    return None


def credential_is_invalid(facts: Facts) -> Verdict | None:
    """Credentials were sent and none of them proves anybody."""
    if facts.subject is None:
        return Verdict(Effect.CHALLENGE, Reason.CREDENTIAL_INVALID)
    return None


def host_is_not_in_scope(facts: Facts) -> Verdict | None:
    """The subject may not enter this domain."""
    if facts.subject and not facts.subject.may_enter(facts.domain_name):
        return Verdict(Effect.DENY, Reason.HOST_NOT_IN_SCOPE)
    return None


def second_factor_is_missing(facts: Facts) -> Verdict | None:
    """The domain asks for two factors and the session was opened with one."""
    subject, domain = facts.subject, facts.domain
    if subject is None or domain is None or domain.access is not Access.TWO_FACTOR:
        return None
    if subject.kind is SubjectKind.USER:
        proven = not SECOND_FACTORS.isdisjoint(subject.amr)
    else:
        proven = subject.names(domain.name)  # a machine has no second factor; its scope must name the domain
    return None if proven else Verdict(Effect.CHALLENGE, Reason.SECOND_FACTOR_REQUIRED)


_VALID = {
    SubjectKind.USER: Reason.SESSION_VALID,
    SubjectKind.GIT_TOKEN: Reason.GIT_TOKEN_VALID,
    SubjectKind.LICENSE: Reason.LICENSE_VALID,
}


def subject_is_valid(facts: Facts) -> Verdict | None:
    """Nothing stands against the subject."""
    if facts.subject is None:
        return None
    return Verdict(Effect.ALLOW, _VALID[facts.subject.kind])


def _allowed_client(facts: Facts, *, inspect: bool) -> Verdict | None:
    entry = facts.standing.allowed
    if entry is None or entry.inspect is not inspect:
        return None
    return Verdict(Effect.ALLOW, Reason.CLIENT_ALLOWED, DecidedBy("ip-white-list", entry.id))


Step = Callable[[Facts], Verdict | None]

STEPS: tuple[Step, ...] = (
    request_is_malformed,
    client_is_blocked,
    host_is_not_authorized,
    client_is_allowed,
    country_is_blocked,
    waf_rules_match,
    inspected_client_is_allowed,
    client_is_over_rate,
    host_is_public,
    credential_is_missing,
    credential_is_invalid,
    host_is_not_in_scope,
    second_factor_is_missing,
    subject_is_valid,
)


def evaluate(request: AccessRequest, policy: PolicySnapshot, ports: Ports) -> Decision:
    """Return the decision: the first applicable step decides; if none applies, the answer is no."""
    facts = Facts(request, policy, ports)
    for step in STEPS:
        if verdict := step(facts):
            return _decision(facts, verdict)
    return CANNOT_DECIDE


@dataclass(frozen=True, slots=True)
class StepResult:
    """What one step says of a request: its verdict (None: does not apply) and whether it decided.

    ``reached`` is false behind the deciding step, ``asked`` where nothing could be said: behind a
    malformed request. ``rules`` are the WAF rules that the step found, whether or not they counted.
    """

    step: str
    verdict: Verdict | None
    decided: bool
    reached: bool
    asked: bool
    rules: tuple[RuleMatch, ...]


def explain(request: AccessRequest, policy: PolicySnapshot, ports: Ports) -> tuple[Decision, tuple[StepResult, ...]]:
    """Return the decision and what every step says, those behind the deciding one included."""
    facts = Facts(request, policy, ports)
    decision: Decision | None = None
    results = []
    for step in STEPS:
        reached = decision is None
        asked = reached or not request.fault
        verdict = step(facts) if asked else None
        rules = facts.rule_matches if asked and step is waf_rules_match else ()
        decides = verdict is not None and reached
        if verdict is not None and decides:
            decision = _decision(facts, verdict)
        results.append(StepResult(step.__name__.replace("_", "-"), verdict, decides, reached, asked, rules))
    return decision or CANNOT_DECIDE, tuple(results)


def _decision(facts: Facts, verdict: Verdict) -> Decision:
    # A valid credential fills the identity headers even where none was needed. For a refusal nobody
    # is looked up: a blocked client must not be able to make us verify signatures.
    subject = facts.subject if verdict.effect is Effect.ALLOW else facts.known_subject
    return Decision(verdict, subject, facts.country_code, facts.known_rule_matches)
