"""The steps of the decision in order: when each applies, the reason for its place, and its title.

``STEPS`` is the one list of them. The API's trace, the metrics, the replay of records, the pages and the tables in
``docs/decisions.md`` are derived from it. Each function returns its verdict, or None where the step does not apply;
the first line of its docstring says when it applies, the paragraph below gives the reason for its place.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from gatewall.engine.access_steps import (
    access_is_denied,
    by_rule,
    host_is_public,
    phishing_resistance_is_missing,
    request_is_in_scope,
    second_factor_is_missing,
    subject_is_denied,
)
from gatewall.engine.facts import Facts
from gatewall.engine.hosts import Access
from gatewall.engine.model import DecidedBy, Effect, Reason, SubjectKind, Verdict
from gatewall.engine.snapshot import DomainsMode, EnforcementMode, UnknownCountry
from gatewall.engine.special_addresses import is_public


def request_is_malformed(facts: Facts) -> Verdict | None:
    """The proxy's subrequest is malformed or ambiguous.

    First, because all others rely on the fields of the request. Guessing which of two values is meant has been a
    bypass in many gateways.
    """
    if facts.request.fault:
        return Verdict(Effect.DENY, Reason.REQUEST_MALFORMED)
    return None


def client_is_blocked(facts: Facts) -> Verdict | None:
    """The most specific live list entry of the client is a blocklist entry.

    Before every expensive check: a blocked client causes no look-up, no pattern match, no signature check. It does not
    weaken the allowlist: both lists are compared in one look-up, and the more specific entry has won already.
    """
    if entry := facts.standing.blocked:
        return Verdict(Effect.DENY, Reason.CLIENT_BLOCKED, DecidedBy("ip-black-list", entry.id))
    return None


def host_is_not_authorized(facts: Facts) -> Verdict | None:
    """The host is not registered (`authorized_domains_mode` `registered`), or its domain has the access `denied`.

    Before the allowlist: an allowlist entry admits a client, but does not make a host exist. A denied domain is denied
    to every client.
    """
    domain = facts.domain
    if domain is None:
        if facts.policy.settings.authorized_domains_mode is DomainsMode.REGISTERED:
            return Verdict(Effect.DENY, Reason.HOST_NOT_AUTHORIZED)
        return None
    if domain.access is Access.DENIED:
        return Verdict(Effect.DENY, Reason.HOST_NOT_AUTHORIZED, DecidedBy("authorized-domains", domain.id))
    return None


def client_is_allowed(facts: Facts) -> Verdict | None:
    """The most specific live list entry is an allowlist entry without `inspect`.

    Before country and WAF: the operator trusts exactly this client (monitoring, an office, a partner abroad).
    To run the WAF and country checks anyway, set `inspect`.
    """
    return _allowed_client(facts, inspect=False)


def country_is_blocked(facts: Facts) -> Verdict | None:
    """The client's country is blocked, or unknown while `unknown_country` is `block` and the address is public.

    Before the WAF: one look-up is cheaper than every pattern.
    """
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
    """The scores of enforced matches of one category reach `waf_threshold`.

    Before public hosts and credentials: an attack on a public page is an attack too, and a valid session does not
    excuse one. No signature is verified before this step.
    """
    scores: defaultdict[str, int] = defaultdict(int)
    for match in facts.rule_matches:
        if match.enforced:
            scores[match.category] += match.score
            if scores[match.category] >= facts.policy.settings.waf_threshold:
                return Verdict(Effect.DENY, Reason.WAF_RULE, DecidedBy("waf-rules", match.rule_id))
    return None


def inspected_client_is_allowed(facts: Facts) -> Verdict | None:
    """The most specific live list entry is an allowlist entry with `inspect`.

    Directly after the country and WAF checks that `inspect` asks for.
    """
    return _allowed_client(facts, inspect=True)


def client_is_over_rate(facts: Facts) -> Verdict | None:
    """The client is over `request_rate_per_minute` of the settings or a deciding access rule (0 is off).

    After the allowlist, whose clients have no rate limit, and after the checks of address, host, country and WAF, so
    that requests that these refuse are not counted; before public hosts and credentials, so that it slows down
    crawling and guessing.
    """
    if over := facts.over_rate:
        decided_by = by_rule(over.rule) if over.rule else None
        return Verdict(Effect.DENY, Reason.CLIENT_RATE_LIMITED, decided_by, over.seconds)
    return None


def credential_is_missing(facts: Facts) -> Verdict | None:
    """No credential was sent, and no device pass covers the program.

    Separate from the next step, because a client without a credential has done nothing wrong.
    """
    if not facts.request.credentials and not (facts.policy.device_passes.has_any and facts.subject):
        return Verdict(Effect.CHALLENGE, Reason.CREDENTIAL_MISSING)
    return None


def credential_is_invalid(facts: Facts) -> Verdict | None:
    """None of the credentials that were sent is valid.

    After the step for a missing credential: 401, because signing in (again) may help.
    """
    if facts.subject is None:
        return Verdict(Effect.CHALLENGE, Reason.CREDENTIAL_INVALID)
    return None


def host_is_not_in_scope(facts: Facts) -> Verdict | None:
    """The subject's scope lacks the domain, or its app token or share link lacks the path, and no grant covers it.

    Once the subject is known: 403, because signing in again would not help.
    """
    subject = facts.subject
    if subject is None:
        return None
    if subject.may_enter(facts.domain_name) and (subject.limits is None or request_is_in_scope(subject.limits, facts)):
        return None
    if facts.grant:
        return None
    return Verdict(Effect.DENY, Reason.HOST_NOT_IN_SCOPE)


_VALID = {
    SubjectKind.USER: Reason.SESSION_VALID,
    SubjectKind.GIT_TOKEN: Reason.GIT_TOKEN_VALID,
    SubjectKind.APP_TOKEN: Reason.APP_TOKEN_VALID,
    SubjectKind.LICENSE: Reason.LICENSE_VALID,
    SubjectKind.GUEST: Reason.SHARE_LINK_VALID,
    SubjectKind.DEVICE: Reason.DEVICE_PASS_VALID,
}


def subject_is_valid(facts: Facts) -> Verdict | None:
    """A credential authenticated a subject, with a grant where scope or an access rule would have refused them.

    Last: every check has passed, and no later step admits a request.
    """
    if facts.subject is None:
        return None
    if facts.policy.grants.has_any and (grant := facts.known_grant):
        return Verdict(Effect.ALLOW, Reason.GRANT_VALID, DecidedBy("grants", grant.id))
    return Verdict(Effect.ALLOW, _VALID[facts.subject.kind])


def _allowed_client(facts: Facts, *, inspect: bool) -> Verdict | None:
    entry = facts.standing.allowed
    if entry is None or entry.inspect is not inspect:
        return None
    return Verdict(Effect.ALLOW, Reason.CLIENT_ALLOWED, DecidedBy("ip-white-list", entry.id))


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A step of the decision: its function, its title for operators, the facts it looks up and the reasons it gives.

    ``facts`` are attributes of ``Facts`` that are looked up when first asked for. Titles are translated where a
    page shows them, and so are the words of a ``Reason``. ``repeats``: requests of the same head, with another URI,
    time and varying headers, get the same verdict, except for what ``settled.py`` checks.
    """

    function: Callable[[Facts], Verdict | None]
    title: str
    facts: tuple[str, ...]
    reasons: tuple[Reason, ...]
    repeats: bool = False

    @property
    def name(self) -> str:
        """The name in the API, in records of what was explained and in tests."""
        return self.function.__name__.replace("_", "-")


STEPS: tuple[Step, ...] = (
    Step(request_is_malformed, "The proxy's request is malformed", (), (Reason.REQUEST_MALFORMED,), repeats=True),
    Step(client_is_blocked, "The address is on the blocklist", ("standing",), (Reason.CLIENT_BLOCKED,), repeats=True),
    Step(
        host_is_not_authorized,
        "The host is not registered, or its access is denied",
        ("domain",),
        (Reason.HOST_NOT_AUTHORIZED,),
        repeats=True,
    ),
    Step(client_is_allowed, "The address is on the allowlist", ("standing",), (Reason.CLIENT_ALLOWED,), repeats=True),
    Step(country_is_blocked, "The country is blocked", ("country_code",), (Reason.COUNTRY_BLOCKED,), repeats=True),
    Step(waf_rules_match, "WAF rules match", ("rule_matches",), (Reason.WAF_RULE,), repeats=True),
    Step(
        inspected_client_is_allowed,
        "The address is on the allowlist, and no WAF rule matches",
        ("standing",),
        (Reason.CLIENT_ALLOWED,),
        repeats=True,
    ),
    Step(
        client_is_over_rate,
        "The address exceeds its request rate",
        ("over_rate",),
        (Reason.CLIENT_RATE_LIMITED,),
        repeats=True,
    ),
    Step(access_is_denied, "An access rule denies the request", ("access",), (Reason.ACCESS_DENIED,), repeats=True),
    Step(
        host_is_public,
        "The host or path is public",
        ("access", "domain"),
        (Reason.HOST_PUBLIC, Reason.PATH_PUBLIC),
        repeats=True,
    ),
    Step(credential_is_missing, "No credential was sent", ("subject",), (Reason.CREDENTIAL_MISSING,), repeats=True),
    Step(
        credential_is_invalid,
        "No credential that was sent is valid",
        ("subject",),
        (Reason.CREDENTIAL_INVALID,),
        repeats=True,
    ),
    Step(
        host_is_not_in_scope,
        "The user may not enter this host",
        ("subject", "domain", "grant"),
        (Reason.HOST_NOT_IN_SCOPE,),
        repeats=True,
    ),
    Step(
        subject_is_denied,
        "An access rule denies the user",
        ("subject", "access", "grant"),
        (Reason.ACCESS_DENIED,),
        repeats=True,
    ),
    Step(
        second_factor_is_missing,
        "The host or path requires a second factor",
        ("subject", "access", "domain", "grant"),
        (Reason.SECOND_FACTOR_REQUIRED,),
        repeats=True,
    ),
    Step(
        phishing_resistance_is_missing,
        "The host or path requires a passkey",
        ("subject", "access", "domain", "grant"),
        (Reason.PHISHING_RESISTANT_REQUIRED,),
        repeats=True,
    ),
    Step(subject_is_valid, "The user is signed in", ("subject",), (*_VALID.values(), Reason.GRANT_VALID), repeats=True),
)

DECIDING_STEP: dict[str, Step] = {reason: step for step in reversed(STEPS) for reason in step.reasons}
"""The step that gives a reason; of two, as with ``client-allowed`` and ``access-denied``, the first."""
