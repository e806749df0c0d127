"""Changes to the policy. Each is one transaction that also advances the revision."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, models, transaction
from django.db.models import Q
from django.utils import timezone

from gatewall import revisions, system_settings
from gatewall.engine.addresses import parse_network
from gatewall.engine.segments import NAMES_DOMAINS, Segment, blocked_networks_of
from gatewall.engine.snapshot import DomainsMode
from gatewall.engine.waf.builtin import BUILTIN_RULES
from gatewall.refusals import Conflict
from policies import selectors
from policies.models import MANUAL, AllowlistEntry, AuthorizedDomain, BlocklistEntry, GeoBlockRule, WafRule
from policies.validators import validate_pattern

_SHORTEST_PREFIX = {4: 8, 6: 19}
"""What is shorter is nearly always a slip of the keyboard, and shuts out a whole region."""


class Duplicate(Conflict):
    """There is such an entry already."""

    code = "duplicate"


class DomainRemoved(Conflict):
    """The domain was registered when the request was read, and is no more."""

    code = "domain-removed"


class NetworkTooLarge(Conflict):
    """The network is so large that it must be asked for by force."""

    code = "network-too-large"


class BuiltinRule(Conflict):
    """A rule that comes with Gatewall cannot be deleted, nor its pattern changed; it can be switched off."""

    code = "builtin-rule"


def _save(row: models.Model, *segments: str, **values: Any) -> None:
    """Set the values and write the row with the next revision, which changes these segments.

    Raises ValidationError, Duplicate, DomainRemoved.
    """
    if values.get("domain"):
        still_registered([values["domain"]])
    for name, value in values.items():
        setattr(row, name, value)
    row.full_clean(validate_unique=False, validate_constraints=False)
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError:
        raise Duplicate(f"{row} is there already") from None
    revisions.advance(*segments)


@revisions.one_at_a_time
def _delete(row: models.Model, *segments: str) -> None:
    """Raises Gone."""
    revisions.as_it_is_now(row).delete()
    revisions.advance(*segments)


def still_registered(domains: Iterable[AuthorizedDomain]) -> list[AuthorizedDomain]:
    """Return the domains, for a service that holds the head. Raises DomainRemoved if one is gone."""
    wanted = list(domains)
    found = AuthorizedDomain.objects.filter(pk__in=[domain.pk for domain in wanted]).count()
    if found != len({domain.pk for domain in wanted}):
        raise DomainRemoved("a domain that was named is not registered any more")
    return wanted


def _refuse_too_large(network: str, *, force: bool) -> None:
    parsed = parse_network(network)
    if not force and parsed.prefixlen < _SHORTEST_PREFIX[parsed.version]:
        raise NetworkTooLarge(f"{network} has {parsed.num_addresses} addresses; send force: true if you mean it")


@revisions.one_at_a_time
def block_network(
    *,
    actor: str,
    network: str,
    remark: str = "",
    expires_at: datetime | None = None,
    source: str = MANUAL,
    force: bool = False,
) -> BlocklistEntry:
    """Put a network on the blocklist; an expired entry for it is replaced.

    Raises ValidationError, NetworkTooLarge, Duplicate.
    """
    _refuse_too_large(network, force=force)
    BlocklistEntry.objects.filter(network=network, source=source, expires_at__lte=timezone.now()).delete()
    entry = BlocklistEntry(created_by=actor)
    _save(entry, blocked_networks_of(source), network=network, remark=remark, expires_at=expires_at, source=source)
    return entry


@revisions.one_at_a_time
def change_blocked_network(entry: BlocklistEntry, *, force: bool = False, **values: Any) -> BlocklistEntry:
    """Change an entry of the blocklist. Raises ValidationError, NetworkTooLarge, Duplicate, Gone."""
    entry = revisions.as_it_is_now(entry)
    if "network" in values:
        _refuse_too_large(values["network"], force=force)
    _save(entry, blocked_networks_of(entry.source), **values)
    return entry


def unblock_network(entry: BlocklistEntry) -> None:
    """Take an entry off the blocklist."""
    _delete(entry, blocked_networks_of(entry.source))


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
    """Put a network on the allowlist; an expired entry for it is replaced. Raises ValidationError, Duplicate."""
    same = Q(domain=domain) if domain else Q(domain__isnull=True)
    AllowlistEntry.objects.filter(same, network=network, expires_at__lte=timezone.now()).delete()
    entry = AllowlistEntry(created_by=actor)
    values = {"network": network, "domain": domain, "inspect": inspect, "remark": remark, "expires_at": expires_at}
    _save(entry, Segment.ALLOWED_NETWORKS, **values)
    return entry


@revisions.one_at_a_time
def change_allowed_network(entry: AllowlistEntry, **values: Any) -> AllowlistEntry:
    """Change an entry of the allowlist. Raises ValidationError, Duplicate, DomainRemoved, Gone."""
    entry = revisions.as_it_is_now(entry)
    _save(entry, Segment.ALLOWED_NETWORKS, **values)
    return entry


def disallow_network(entry: AllowlistEntry) -> None:
    """Take an entry off the allowlist."""
    _delete(entry, Segment.ALLOWED_NETWORKS)


@revisions.one_at_a_time
def register_domain(*, actor: str, name: str, access: str, remark: str = "", seed: bool = False) -> AuthorizedDomain:
    """Register a domain.

    The first that a person registers turns ``authorized_domains_mode`` to ``registered``; the
    domains that come with the installation (``seed``) do not.

    Raises ValidationError, Duplicate.
    """
    is_first = not seed and not AuthorizedDomain.objects.exclude(created_by="").exists()
    domain = AuthorizedDomain(created_by="" if seed else actor)
    _save(domain, Segment.DOMAINS, name=name, access=access, remark=remark)
    if is_first:
        system_settings.change(authorized_domains_mode=DomainsMode.REGISTERED.value)
    return domain


@revisions.one_at_a_time
def change_domain(domain: AuthorizedDomain, **values: Any) -> AuthorizedDomain:
    """Change a registered domain. Raises ValidationError, Duplicate, Gone."""
    domain = revisions.as_it_is_now(domain)
    _save(domain, *NAMES_DOMAINS, **values)
    return domain


@revisions.one_at_a_time
def remove_domain(domain: AuthorizedDomain) -> None:
    """Remove a registered domain, and what holds for it alone. Nobody may enter more than before.

    A built-in rule that was limited to it is switched off: it cannot be deleted, and must not begin
    to refuse requests everywhere.
    """
    domain = revisions.as_it_is_now(domain)
    domain.waf_rules.filter(builtin_key__isnull=False).update(domain=None, enabled=False)
    _delete(domain, *NAMES_DOMAINS)


@revisions.one_at_a_time
def block_country(*, actor: str, country_code: str, remark: str = "") -> GeoBlockRule:
    """Block a country. Raises ValidationError, Duplicate."""
    rule = GeoBlockRule(created_by=actor)
    _save(rule, Segment.BLOCKED_COUNTRIES, country_code=country_code, remark=remark)
    return rule


def unblock_country(rule: GeoBlockRule) -> None:
    """Take a country off the list."""
    _delete(rule, Segment.BLOCKED_COUNTRIES)


@revisions.one_at_a_time
def create_waf_rule(*, actor: str, **values: Any) -> WafRule:
    """Create a custom WAF rule. Raises ValidationError, Duplicate."""
    rule = WafRule(created_by=actor)
    _set_pattern(rule, values)
    _save(rule, Segment.WAF_RULES, **values)
    return rule


@revisions.one_at_a_time
def change_waf_rule(rule: WafRule, **values: Any) -> WafRule:
    """Change a WAF rule. Raises ValidationError, Duplicate, BuiltinRule, DomainRemoved, Gone."""
    rule = revisions.as_it_is_now(rule)
    fixed = {name for name in ("pattern", "operator") if name in values and values[name] != getattr(rule, name)}
    if rule.builtin and fixed:
        raise BuiltinRule(f"the {' and '.join(sorted(fixed))} of a built-in rule cannot be changed")
    _set_pattern(rule, values)
    _save(rule, Segment.WAF_RULES, **values)
    return rule


def _set_pattern(rule: WafRule, values: dict[str, Any]) -> None:
    try:
        validate_pattern(values.get("pattern", rule.pattern), values.get("operator", rule.operator))
    except ValidationError as error:
        raise ValidationError({"pattern": error}) from None


@revisions.one_at_a_time
def delete_waf_rule(rule: WafRule) -> None:
    """Delete a custom WAF rule. Raises BuiltinRule, Gone."""
    rule = revisions.as_it_is_now(rule)
    if rule.builtin:
        raise BuiltinRule("a built-in rule cannot be deleted; set enabled to false")
    _delete(rule, Segment.WAF_RULES)


@revisions.one_at_a_time
def seed_waf_rules() -> int:
    """Bring the built-in rules to this version; what operators set is left alone. Returns how many changed."""
    rows = selectors.builtin_rules_by_key()
    changed = 0
    for rule in BUILTIN_RULES:
        row = rows.get(rule.key) or WafRule(
            builtin_key=rule.key, name=rule.key, severity=rule.severity.value, score=rule.score
        )
        fixed = {
            "pattern": rule.pattern,
            "targets": [target.value for target in rule.targets],
            "transforms": [transform.value for transform in rule.transforms],
            "category": rule.category.value,
            "description": rule.reason,
        }
        if row.pk is None or row.pattern != rule.pattern:
            _save(row, Segment.WAF_RULES, **fixed)
            changed += 1
    return changed
