"""Settled decisions: valid for all requests of one head while policy, session and country do not change. No I/O.

Requests of one head differ in URI and in headers that only WAF rules and access rules read. With the same access, every
other step gives the same verdict, unless something in it expires.
"""

from collections.abc import Callable

from gatewall.engine.access_rules.table import AccessOutcome
from gatewall.engine.addresses import IPAddress
from gatewall.engine.facts import Facts
from gatewall.engine.model import AccessRequest, Decision, Effect, Subject
from gatewall.engine.ports import Ports
from gatewall.engine.snapshot import PolicySnapshot
from gatewall.engine.steps import STEPS
from gatewall.engine.values import value

_ALLOW = Effect.ALLOW
_STEPS_REPEAT = all(step.repeats for step in STEPS)


@value
class Settled:
    """What an allowing decision depends on, besides the head, the WAF and the request rate.

    ``identity`` is that of the policy. ``in_force`` returns whether the session is valid at a time; None without one.
    ``access`` is the outcome of the access rules of ``domain_name``; None if it has none.
    """

    identity: object
    client: IPAddress
    country_code: str | None
    subject: Subject | None
    in_force: Callable[[float], bool] | None
    domain_name: str | None
    access: AccessOutcome | None

    def holds(self, policy: PolicySnapshot, at: float) -> bool:
        """True under the same policy while the session is valid."""
        return self.identity is policy.identity and (self.in_force is None or self.in_force(at))

    def is_like(self, other: "Settled") -> bool:
        """True if both depend on the same policy, country and subject."""
        mine = (self.country_code, self.subject)
        return self.identity is other.identity and mine == (other.country_code, other.subject)

    def access_of(self, request: AccessRequest, policy: PolicySnapshot, ports: Ports) -> AccessOutcome | None:
        """Return the access that another request of the head needs."""
        if self.access is None:
            return None
        facts = Facts(request, policy, ports)
        facts.know(subject=self.subject, country_code=self.country_code)
        return facts.access


def settled(facts: Facts, decision: Decision) -> Settled | None:
    """Return what this decision depends on; None if the next one may differ for another reason.

    Such reasons are: a list entry or a grant (by time and path), a device pass, a credential other than one session, a
    match of a WAF rule, and a request rate of an access rule.
    """
    request, policy, subject, in_force = facts.request, facts.policy, decision.subject, None
    if decision.rules or decision.verdict.effect is not _ALLOW or not _STEPS_REPEAT:
        return None
    if subject is not None:
        in_force = _in_force(facts, subject)
        if in_force is None:
            return None
    elif request.credentials or policy.device_passes.has_any:
        return None
    if facts.has_looked_for_grant or policy.lists.contain(request.client) or facts.access.rates:
        return None
    access = facts.access if policy.access_rules.indexes_of(facts.domain_name) else None
    code = decision.country_code
    return Settled(policy.identity, request.client, code, subject, in_force, facts.domain_name, access)


def _in_force(facts: Facts, subject: Subject) -> Callable[[float], bool] | None:
    """Return the validity check of the subject's session, by time; None if another credential proved the subject."""
    credentials = facts.request.credentials
    for identity, claims, known in credentials[0].known if len(credentials) == 1 else ():
        if identity is facts.policy.identity and known is subject:
            in_force: Callable[[float], bool] = claims.in_force
            return in_force
    return None
