"""WAF and IP exemptions and grants for a refused request, from narrowest to broadest: propose them, and create one.

docs/operator.md lists the exemptions for each kind of refusal. An allowlist entry for an unregistered host would apply
to all hosts: it is not offered if such hosts are refused anyway, or if the record lacks the host's exact name.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils import timezone

from audit.spool.records import AccessRecord
from gatewall.engine.addresses import canonical_text, parse_network
from gatewall.engine.expiry import is_live
from gatewall.engine.hosts import Access, Host
from gatewall.engine.messages import gettext_noop as _
from gatewall.engine.model import AccessRequest, Action, Reason
from gatewall.engine.snapshot import DomainsMode
from gatewall.engine.waf.exclusions import Exclusion
from gatewall.engine.waf.places import Places
from gatewall.engine.waf.rules import Target
from gatewall.engine.waf.rules import WafRule as EngineRule
from gatewall.engine.waf.scope import Scope
from gatewall.kernel.clientip import Caller
from gatewall.policy import revisions
from gatewall.publication.control_plane import sources_of
from gatewall.replay.recorded_waf import is_whole
from gatewall.replay.redecision import recorded_request
from gatewall.whatif.grant_offers import give, grants_for
from gatewall.whatif.noted_parts import field_of, noted_parts, with_field
from gatewall.whatif.offers import Kind, Lifetime, NotOffered, Offer
from gatewall.whatif.request_paths import longest_prefix
from policies import services
from policies.exclusions import exclusion_expiry, validate_exclusions, written
from policies.models import MANUAL, AuthorizedDomain, BlocklistEntry, WafRule
from policies.validators import canonical_domain

_REFUSED_BEFORE = frozenset(
    {Reason.CLIENT_BLOCKED, Reason.COUNTRY_BLOCKED, Reason.HOST_NOT_AUTHORIZED, Reason.WAF_RULE}
)
"""Reasons of a refusal today that take precedence over what the monitoring WAF would have refused then."""
MAX_RULES = 10
"""A request blocked by more rules than this is not a false positive."""


def offers(record: AccessRecord, today: dict[str, Any]) -> list[Offer]:
    """Return the exemptions for a recorded request, given the result of its replay (``decide_again``)."""
    decision = today["decision"]
    reason = decision["reason"] if decision else record.reason
    if record.would_refuse and reason not in _REFUSED_BEFORE:
        return _for_rules(record, today)
    match reason:
        case Reason.WAF_RULE:
            return _for_rules(record, today)
        case Reason.CLIENT_BLOCKED:
            return list(_for_blocked_client(record))
        case Reason.COUNTRY_BLOCKED:
            return list(_allow_client(record, inspect=False))
        case Reason.HOST_NOT_IN_SCOPE | Reason.ACCESS_DENIED:
            return list(grants_for(record, decision["decided_by"] if decision else record.decided_by))
        case Reason.HOST_NOT_AUTHORIZED if not (decision["decided_by"] if decision else record.decided_by):
            return list(_for_unknown_host(record))
    return []


@revisions.one_at_a_time
def apply(
    record: AccessRecord, today: dict[str, Any], key: str, lifetime: Lifetime, *, actor: str, caller: Caller | None
) -> Offer:
    """Create a proposed exemption. Raises NotOffered and the errors of the services."""
    offer = next((each for each in offers(record, today) if each.key == key), None)
    until = lifetime.end(timezone.now())
    if offer is None or (until is None and not offer.may_be_permanent):
        raise NotOffered(_("the reason for this refusal has changed: open the request again"))
    remark = f"exemption for {record.decision_id}"
    match offer.kind:
        case Kind.EXCLUSION | Kind.EXCLUSIONS:
            for each in offer.together or (offer,):
                _exclude(each, until, actor)
        case Kind.ALLOW:
            domain = _domain(offer)
            services.allow_network(
                actor=actor, network=offer.name, domain=domain, inspect=offer.inspect, remark=remark, expires_at=until
            )
        case Kind.GRANT if until is not None:
            give(offer, record, until, actor=actor)
        case Kind.UNBLOCK:
            services.unblock_network(BlocklistEntry.objects.get(pk=offer.row), actor=actor)
        case Kind.REGISTER:
            access = Access.AUTHENTICATED.value
            services.register_domain(actor=actor, name=offer.name, access=access, remark=remark, caller=caller)
    return offer


def _domain(offer: Offer) -> AuthorizedDomain | None:
    if offer.domain is None:
        return None
    domain = AuthorizedDomain.objects.filter(name=offer.domain).first()
    if domain is None:
        raise NotOffered(_("the reason for this refusal has changed: open the request again"))
    return domain


def _exclude(offer: Offer, until: datetime | None, actor: str) -> None:
    rule = WafRule.objects.filter(pk=offer.row).first()
    if rule is None:
        raise NotOffered(_("the reason for this refusal has changed: open the request again"))
    now = timezone.now().timestamp()
    end = {"expires_at": until.isoformat().replace("+00:00", "Z")} if until else {}
    kept = [each for each in rule.exclusions if is_live(exclusion_expiry(each), now)]
    exclusions = [*kept, *(written(each) | end for each in offer.exclusions)]
    # Forced: the exclusion can only make a rule that matches everything match less.
    services.change_waf_rule(rule, actor=actor, force=True, exclusions=exclusions)


def _for_rules(record: AccessRecord, today: dict[str, Any]) -> list[Offer]:
    """Return an offer per rule; if there are several and each has one, preceded by one offer for all of them."""
    policy = sources_of(settings.CONFIG)[0].current()
    request = recorded_request(record, timezone.now().timestamp())
    if policy is None or request is None:
        return []
    domain = policy.domains.match(request.host)
    name = domain.name if domain else None
    rules = {rule.id: rule for rule in policy.waf.rules}
    matched = [rule for step in today["trace"] if step["reached"] for rule in step["rules"]] or record.rules
    ids = [rule["id"] for rule in matched if _may_refuse(rule, rules, record)]
    noted = {rule["id"]: rule.get("place") for rule in record.rules}
    single = [
        Offer(Kind.EXCLUSION, rules[id_].name, id_, exclusions[0].domain, exclusions)
        for id_ in ids[:MAX_RULES]
        if (exclusions := _narrowest(rules[id_], request, name, noted.get(id_)))
    ]
    if 1 < len(single) == len(ids):
        return [Offer(Kind.EXCLUSIONS, "", together=tuple(single)), *single]
    return single


def _may_refuse(rule: Mapping[str, Any], rules: Mapping[int, EngineRule], record: AccessRecord) -> bool:
    """True if a matched rule still exists and was enforced, or would have been without the monitor mode."""
    is_there = rule["id"] in rules
    if rule["action"] == Action.BLOCK.value or not record.would_refuse:
        return is_there and rule["action"] == Action.BLOCK.value
    return is_there and rules[rule["id"]].action is Action.BLOCK


def _for_blocked_client(record: AccessRecord) -> Iterator[Offer]:
    address = canonical_text(parse_network(record.client_ip))
    entry = BlocklistEntry.objects.filter(network=address, source=MANUAL).first()
    if entry is not None and (entry.expires_at is None or entry.expires_at > timezone.now()):
        yield Offer(Kind.UNBLOCK, address, entry.pk)  # it would win over an allowlist entry for the same address
    else:
        yield from _allow_client(record, inspect=True)


def _allow_client(record: AccessRecord, *, inspect: bool) -> Iterator[Offer]:
    policy = sources_of(settings.CONFIG)[0].current()
    host = record.host or ""
    domain = policy.domains.match(Host(host)) if policy and host else None  # a masked label is below a wildcard
    is_any = policy is not None and policy.settings.authorized_domains_mode is DomainsMode.ANY
    if domain or (is_any and is_whole(host, 0)):
        name = domain.name if domain else None
        yield Offer(Kind.ALLOW, canonical_text(parse_network(record.client_ip)), domain=name, inspect=inspect)


def _for_unknown_host(record: AccessRecord) -> Iterator[Offer]:
    try:
        yield Offer(Kind.REGISTER, canonical_domain(record.host or ""))
    except ValidationError:
        return  # not a valid domain name


def _narrowest(
    rule: EngineRule, request: AccessRequest, domain: str | None, noted: Mapping[str, Any] | None
) -> tuple[Exclusion, ...]:
    """Return exclusions limited to this host and path, and to the parts of the request where the rule matched.

    If one of these parts has no name, limited to host and path only. ``noted``: where the rule matched at the decision,
    in parts that the record lacks (headers, cookies, the body). Returns none if the exclusions would apply everywhere,
    or if existing ones already cover the request.
    """
    anywhere = Places(request, domain).of(replace(rule, exclusions=()))
    if anywhere and not Places(request, domain).of(rule):
        return ()
    widest = Exclusion(_host_of(request) or domain, longest_prefix(request, domain))
    exclusions: tuple[Exclusion, ...] = ()
    if not anywhere and (parts := noted_parts(noted)):
        scope = Scope(request, domain)
        is_spared = any(scope.spares(rule, Target.BODY, part) for part in parts)
        fields = [field for part in parts if (field := field_of(part)) is not None]
        return () if is_spared else tuple(with_field(widest, *each) for each in fields) or (widest,)
    for _round in range(10):
        places = Places(request, domain).of(replace(rule, exclusions=(*rule.exclusions, *exclusions)))
        if not places and exclusions:
            return exclusions
        fields = [field for place in places if (field := field_of(place.part)) is not None]
        if not places or len(fields) < len(places):
            break
        exclusions += tuple(with_field(widest, *each) for each in sorted(set(fields)))
    return (widest,) if widest.domain or widest.path_prefix else ()


def _host_of(request: AccessRequest) -> str | None:
    """Return the name of the host, narrower than a domain with a wildcard; None if an exclusion cannot name it."""
    name = request.host.name if request.host else None
    try:
        validate_exclusions([{"domain": name}])
    except ValidationError:
        return None
    return name
