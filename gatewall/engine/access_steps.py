"""Steps of the decision that depend on the access that a request needs: the domain's, or that of an access rule.

Their places in the decision are in ``gatewall/engine/steps.py: STEPS``.
"""

from gatewall.engine.access_rules.paths import covers
from gatewall.engine.access_rules.rules import AccessRule
from gatewall.engine.access_rules.table import AccessOutcome
from gatewall.engine.auth_methods import PHISHING_RESISTANT, SECOND_FACTORS
from gatewall.engine.facts import Facts
from gatewall.engine.hosts import Access
from gatewall.engine.model import (
    DecidedBy,
    Effect,
    Reason,
    Subject,
    SubjectKind,
    Verdict,
)
from gatewall.engine.token_scope import TokenScope


def access_is_denied(facts: Facts) -> Verdict | None:
    """The access rule that decides has the access `denied`, to everybody.

    Before credentials: signing in would not help. After the rate limit, so that a rule can limit the rate of requests
    that it refuses.
    """
    access = facts.access
    if access.level is Access.DENIED and access.rule and not access.rule.is_about_subjects:
        return Verdict(Effect.DENY, Reason.ACCESS_DENIED, by_rule(access.rule))
    return None


def host_is_public(facts: Facts) -> Verdict | None:
    """The domain, or the access rule that decides, has the access `public`.

    Before credentials: what is public requires none.
    """
    access = facts.access
    if access.level is not Access.PUBLIC:
        return None
    if access.rule:
        return Verdict(Effect.ALLOW, Reason.PATH_PUBLIC, by_rule(access.rule))
    domain = facts.domain
    return Verdict(Effect.ALLOW, Reason.HOST_PUBLIC, DecidedBy("authorized-domains", domain.id) if domain else None)


def subject_is_denied(facts: Facts) -> Verdict | None:
    """The access rule that decides has the access `denied`, is about this subject, and no grant overrides it.

    After the scope check, whose reason says more: the rules of a host do not matter to a subject that may not enter it.
    """
    access = facts.access
    if access.level is not Access.DENIED or not access.rule or not access.rule.is_about_subjects:
        return None
    if facts.subject is None or facts.grant:
        return None
    return Verdict(Effect.DENY, Reason.ACCESS_DENIED, by_rule(access.rule))


def second_factor_is_missing(facts: Facts) -> Verdict | None:
    """The domain, or the access rule that decides, has the access `two_factor`, and the subject lacks a second factor.

    After the scope check: a site does not ask for a second factor if the user may not enter it.
    """
    subject, access = facts.subject, facts.access
    level = access.level if access.level is not Access.DENIED else _level_of_denied(facts)
    if subject is None or level is not Access.TWO_FACTOR or _has_second_factor(subject, facts):
        return None
    return Verdict(Effect.CHALLENGE, Reason.SECOND_FACTOR_REQUIRED, _required_by(access))


def phishing_resistance_is_missing(facts: Facts) -> Verdict | None:
    """The domain, or the access rule that decides, has the access `phishing_resistant`, and there was no such sign-in.

    After the second factor, which is the weaker requirement. Machines never pass.
    """
    subject, access = facts.subject, facts.access
    level = access.level if access.level is not Access.DENIED else _level_of_denied(facts)
    if subject is None or level is not Access.PHISHING_RESISTANT:
        return None
    if subject.kind is SubjectKind.USER and PHISHING_RESISTANT in subject.amr:
        return None
    return Verdict(Effect.CHALLENGE, Reason.PHISHING_RESISTANT_REQUIRED, _required_by(access))


def request_is_in_scope(scope: TokenScope, facts: Facts) -> bool:
    """Return whether the method and every reading of the path are in the scope of an app token or share link.

    A part that was not shown, and a path with too many readings, are outside a scope that limits them.
    """
    request = facts.request
    if scope.methods and not ("method" in request.visible and request.method in scope.methods):
        return False
    if not scope.paths:
        return True
    readings = facts.path_readings if "uri" in request.visible else None
    return readings is not None and all(covers(scope.paths, reading) for reading in readings)


def missing_proof(facts: Facts) -> Verdict | None:
    """Return the challenge for a stronger sign-in if the subject may enter with it, or None."""
    return second_factor_is_missing(facts) or phishing_resistance_is_missing(facts)


def by_rule(rule: AccessRule) -> DecidedBy:
    """Return an access rule as the row that decided."""
    return DecidedBy("access-rules", rule.id)


def _level_of_denied(facts: Facts) -> Access:
    """Return the access of a request that a rule denies: the domain's if a grant overrides the rule."""
    rule = facts.access.rule
    is_granted = rule is not None and rule.is_about_subjects and facts.domain and facts.grant
    return facts.domain.access if is_granted and facts.domain else Access.DENIED


def _required_by(access: AccessOutcome) -> DecidedBy | None:
    """Return the rule that requires a stronger sign-in; None if the domain does."""
    return by_rule(access.rule) if access.rule and access.level is not Access.DENIED else None


def _has_second_factor(subject: Subject, facts: Facts) -> bool:
    """Return whether the user has a second factor, or the subject needs none here.

    A machine needs none if its scope names the domain; nor does a guest with a share link, except where an access rule
    decides. A device pass never suffices.
    """
    if subject.kind is SubjectKind.USER:
        return not SECOND_FACTORS.isdisjoint(subject.amr)
    if subject.kind is SubjectKind.DEVICE or (subject.kind is SubjectKind.GUEST and facts.access.rule):
        return False
    return subject.is_made_for(facts.domain_name)
