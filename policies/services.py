"""Change the policy: each change is one transaction that advances the revision.

``actor`` is recorded in the revision. ``caller``: address and host of the person, if any; a change that would lock
them out is refused unless forced.
"""

from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Q

from gatewall.engine.addresses import parse_network
from gatewall.engine.messages import gettext_noop as _
from gatewall.engine.segments import NAMES_DOMAINS, blocked_networks_of
from gatewall.engine.snapshot import DomainsMode, Segment
from gatewall.kernel.clientip import Caller
from gatewall.kernel.refusals import Conflict, Overridable
from gatewall.policy import revisions, system_settings
from policies import rows, selectors
from policies.history.lockout import guard_against_lockout, refuse_blocking_loopback
from policies.models import MANUAL, AllowlistEntry, AuthorizedDomain, BlocklistEntry, GeoBlockRule, WafRule
from policies.rule_references import remove_from_rules
from policies.rules.broad_patterns import log_once, refuse_matching_everything
from policies.scopes import Scopes
from policies.validators import MAX_CUSTOM_RULES, validate_pattern

_SHORTEST_PREFIX = {4: 8, 6: 19}
"""Shorter prefixes are nearly always a typo, and block a whole region."""
_MATCHING_FIELDS = (
    *("pattern", "operator", "targets", "transforms", "action", "enabled"),
    *("domain", "path_prefix", "exclusions"),
)


class NetworkTooLarge(Overridable):
    """The network is too large to be blocked without force."""

    code = "network-too-large"


class BuiltinRule(Conflict):
    """A built-in rule cannot be deleted and its pattern is fixed; it can be disabled."""

    code = "builtin-rule"


class TooManyWafRules(Conflict):
    """The maximum number of custom WAF rules is reached."""

    code = "too-many-waf-rules"


def refuse_too_large(network: str, *, force: bool) -> None:
    """Raise NetworkTooLarge for a network that is implausibly large, unless forced."""
    parsed = parse_network(network)
    if not force and parsed.prefixlen < _SHORTEST_PREFIX[parsed.version]:
        raise NetworkTooLarge(
            _("%(network)s has %(number)s addresses"),
            network=network,
            number=parsed.num_addresses,
        )


@revisions.one_at_a_time
def block_network(
    *,
    actor: str,
    network: str,
    remark: str = "",
    expires_at: datetime | None = None,
    source: str = MANUAL,
    caller: Caller | None = None,
    force: bool = False,
) -> BlocklistEntry:
    """Add a network to the blocklist, replacing an expired entry for it.

    Raises ValidationError, NetworkTooLarge, WouldLockYouOut, Duplicate.
    """
    refuse_too_large(network, force=force)
    refuse_blocking_loopback(caller, network, force=force)
    entry = BlocklistEntry(created_by=actor)
    values = {"network": network, "remark": remark, "expires_at": expires_at, "source": source}
    with guard_against_lockout(caller, force=force):
        replaced = rows.replace_expired(BlocklistEntry.objects.filter(network=network, source=source))
        rows.save(entry, blocked_networks_of(source), actor=actor, replaced=replaced, **values)
    return entry


@revisions.one_at_a_time
def change_blocked_network(
    entry: BlocklistEntry, *, actor: str, caller: Caller | None = None, force: bool = False, **values: Any
) -> BlocklistEntry:
    """Update a blocklist entry, replacing an expired entry for its new network.

    Raises ValidationError, NetworkTooLarge, WouldLockYouOut, Duplicate, Gone.
    """
    entry = revisions.as_it_is_now(entry)
    network = values.get("network", entry.network)
    if "network" in values:
        refuse_too_large(network, force=force)
    if {"network", "expires_at"} & values.keys():
        refuse_blocking_loopback(caller, network, force=force)
    others = BlocklistEntry.objects.filter(network=network, source=entry.source).exclude(pk=entry.pk)
    with guard_against_lockout(caller, force=force):
        replaced = rows.replace_expired(others)
        rows.save(entry, blocked_networks_of(entry.source), actor=actor, replaced=replaced, **values)
    return entry


def unblock_network(entry: BlocklistEntry, *, actor: str) -> None:
    """Delete a blocklist entry. Raises Gone."""
    rows.delete(entry, blocked_networks_of(entry.source), actor=actor)


@revisions.one_at_a_time
def allow_network(
    *,
    actor: str,
    network: str,
    domain: AuthorizedDomain | None = None,
    inspect: bool = False,
    remark: str = "",
    expires_at: datetime | None = None,
) -> AllowlistEntry:
    """Add a network to the allowlist, replacing an expired entry for it. It cannot lock anyone out.

    Raises ValidationError, Duplicate, DomainRemoved.
    """
    replaced = rows.replace_expired(AllowlistEntry.objects.filter(_at_domain(domain), network=network))
    entry = AllowlistEntry(created_by=actor)
    values = {"network": network, "domain": domain, "inspect": inspect, "remark": remark, "expires_at": expires_at}
    rows.save(entry, Segment.ALLOWED_NETWORKS, actor=actor, replaced=replaced, **values)
    return entry


@revisions.one_at_a_time
def change_allowed_network(
    entry: AllowlistEntry, *, actor: str, caller: Caller | None = None, force: bool = False, **values: Any
) -> AllowlistEntry:
    """Update an allowlist entry, replacing an expired entry for its new network and domain.

    Raises ValidationError, WouldLockYouOut, Duplicate, DomainRemoved, Gone.
    """
    entry = revisions.as_it_is_now(entry)
    network, domain = values.get("network", entry.network), values.get("domain", entry.domain)
    with guard_against_lockout(caller, force=force):
        others = AllowlistEntry.objects.filter(_at_domain(domain), network=network).exclude(pk=entry.pk)
        replaced = rows.replace_expired(others)
        rows.save(entry, Segment.ALLOWED_NETWORKS, actor=actor, replaced=replaced, **values)
    return entry


@revisions.one_at_a_time
def disallow_network(entry: AllowlistEntry, *, actor: str, caller: Caller | None = None, force: bool = False) -> None:
    """Delete an allowlist entry. Raises WouldLockYouOut, Gone."""
    with guard_against_lockout(caller, force=force):
        rows.delete(entry, Segment.ALLOWED_NETWORKS, actor=actor)


def _at_domain(domain: AuthorizedDomain | None) -> Q:
    return Q(domain=domain) if domain else Q(domain__isnull=True)


@revisions.one_at_a_time
def register_domain(
    *,
    actor: str,
    name: str,
    access: str,
    remark: str = "",
    seed: bool = False,
    caller: Caller | None = None,
    force: bool = False,
    **values: Any,
) -> AuthorizedDomain:
    """Register a domain.

    The first domain that a person registers sets ``authorized_domains_mode`` to ``registered``; those of the
    installation (``seed``) do not. Allowlist entries for ``*.name`` do not apply to a host registered below it.
    Raises ValidationError, WouldLockYouOut, Duplicate.
    """
    is_first = not seed and not selectors.has_site()
    domain = AuthorizedDomain(created_by="" if seed else actor)
    with guard_against_lockout(caller, force=force):
        rows.save(domain, Segment.DOMAINS, actor=actor, name=name, access=access, remark=remark, **values)
    if is_first:
        system_settings.change(actor=actor, authorized_domains_mode=DomainsMode.REGISTERED.value)
    return domain


@revisions.one_at_a_time
def change_domain(
    domain: AuthorizedDomain, *, actor: str, caller: Caller | None = None, force: bool = False, **values: Any
) -> AuthorizedDomain:
    """Update a registered domain. Raises ValidationError, WouldLockYouOut, Duplicate, Gone."""
    domain = revisions.as_it_is_now(domain)
    with guard_against_lockout(caller, force=force):
        rows.save(domain, *NAMES_DOMAINS, actor=actor, **values)
    return domain


@revisions.one_at_a_time
def remove_domain(domain: AuthorizedDomain, *, actor: str, caller: Caller | None = None, force: bool = False) -> None:
    """Delete a registered domain, with its entries, grants, share links, device passes and custom WAF rules.

    A built-in rule limited to it is disabled, so as not to refuse requests on other hosts. An access rule that names no
    other domain is disabled, so as not to apply to every host. No scope becomes wider.
    Raises WouldLockYouOut, Gone.
    """
    domain = revisions.as_it_is_now(domain)
    with guard_against_lockout(caller, force=force):
        scopes = Scopes([domain])
        builtin = domain.waf_rules.filter(builtin_key__isnull=False)
        changes = [rows.write(rule, domain=None, enabled=False) for rule in builtin]
        given = [*domain.grants.all(), *domain.share_links.all(), *domain.device_passes.all()]
        gone = [*domain.allowlist_entries.all(), *domain.waf_rules.all(), *given, domain]
        changes += [rows.deletion(row) for row in gone]
        changes += remove_from_rules("domains", domain)
        domain.delete()
        revisions.advance(*NAMES_DOMAINS, actor=actor, changes=[*changes, *scopes.changes()])


@revisions.one_at_a_time
def block_country(*, actor: str, country_code: str, remark: str = "") -> GeoBlockRule:
    """Block a country. Raises ValidationError, Duplicate."""
    rule = GeoBlockRule(created_by=actor)
    rows.save(rule, Segment.BLOCKED_COUNTRIES, actor=actor, country_code=country_code, remark=remark)
    return rule


@revisions.one_at_a_time
def change_country(rule: GeoBlockRule, *, actor: str, remark: str) -> GeoBlockRule:
    """Change the remark of a blocked country. Raises ValidationError, Gone."""
    rule = revisions.as_it_is_now(rule)
    rows.save(rule, Segment.BLOCKED_COUNTRIES, actor=actor, remark=remark)
    return rule


def unblock_country(rule: GeoBlockRule, *, actor: str) -> None:
    """Unblock a country. Raises Gone."""
    rows.delete(rule, Segment.BLOCKED_COUNTRIES, actor=actor)


@revisions.one_at_a_time
def create_waf_rule(*, actor: str, force: bool = False, **values: Any) -> WafRule:
    """Create a custom WAF rule.

    Raises ValidationError, MatchesEverything, TooManyWafRules, Duplicate, DomainRemoved.
    """
    rule = WafRule(created_by=actor)
    _check_pattern(rule, values)
    if WafRule.objects.filter(builtin_key__isnull=True).count() >= MAX_CUSTOM_RULES:
        raise TooManyWafRules(
            _("there are already %(number)s rules, the maximum that can be published in time"),
            number=f"{MAX_CUSTOM_RULES:,}",
        )
    rows.save(rule, Segment.WAF_RULES, actor=actor, **values)
    if not force:
        refuse_matching_everything(rule)
    log_once(rule)
    return rule


@revisions.one_at_a_time
def change_waf_rule(rule: WafRule, *, actor: str, force: bool = False, **values: Any) -> WafRule:
    """Update a WAF rule; check whether it matches everything only if the change affects what it refuses.

    Raises ValidationError, MatchesEverything, Duplicate, BuiltinRule, DomainRemoved, Gone.
    """
    rule = revisions.as_it_is_now(rule)
    changed = {name for name in ("pattern", "operator") if name in values and values[name] != getattr(rule, name)}
    if rule.builtin and changed:
        raise BuiltinRule(
            _("the %(fields)s of a built-in rule cannot be changed"), fields=" and ".join(sorted(changed))
        )
    _check_pattern(rule, values)
    refuses_other = any(name in values and values[name] != getattr(rule, name) for name in _MATCHING_FIELDS)
    rows.save(rule, Segment.WAF_RULES, actor=actor, **values)
    if refuses_other and not force:
        refuse_matching_everything(rule)
    if changed:
        log_once(rule)
    return rule


def _check_pattern(rule: WafRule, values: dict[str, Any]) -> None:
    try:
        validate_pattern(values.get("pattern", rule.pattern), values.get("operator", rule.operator))
    except ValidationError as error:
        raise ValidationError({"pattern": error}) from None


@revisions.one_at_a_time
def delete_waf_rule(rule: WafRule, *, actor: str) -> None:
    """Delete a custom WAF rule. Raises BuiltinRule, Gone."""
    rule = revisions.as_it_is_now(rule)
    if rule.builtin:
        raise BuiltinRule(_("a built-in rule cannot be deleted; set enabled to false"))
    rows.delete(rule, Segment.WAF_RULES, actor=actor)
