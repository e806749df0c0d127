"""Queries of policy rows. Read-only."""

from collections.abc import Iterator
from datetime import datetime

from django.db.models import Q, QuerySet

from gatewall.engine.messages import gettext_noop as _
from gatewall.engine.snapshot import DomainsMode
from gatewall.policy import system_settings
from policies.models import (
    AUTO_BAN,
    AllowlistEntry,
    AuthorizedDomain,
    BlocklistEntry,
    GeoBlockRule,
    ListSubscription,
    WafRule,
)


def blocked_networks() -> QuerySet[BlocklistEntry]:
    """Return the blocklist."""
    return BlocklistEntry.objects.all()


def block_sources() -> Iterator[str]:
    """Yield the sources of the blocklist, in order. Each is one step in an index, however many entries it has."""
    names = BlocklistEntry.objects.order_by("source").values_list("source", flat=True)
    source = names.first()
    while source is not None:
        yield source
        source = names.filter(source__gt=source).first()


def number_of_bans(at: datetime) -> int:
    """Return how many automatic bans are in force. Costs no more however long the imported lists are."""
    live = Q(expires_at__isnull=True) | Q(expires_at__gt=at)
    return BlocklistEntry.objects.filter(live, source=AUTO_BAN).count()


def allowed_networks() -> QuerySet[AllowlistEntry]:
    """Return the allowlist with the domains of its entries."""
    return AllowlistEntry.objects.select_related("domain")


def authorized_domains() -> QuerySet[AuthorizedDomain]:
    """Return the registered domains."""
    return AuthorizedDomain.objects.all()


NONE_REGISTERED = _("no domain of yours is registered, and authorized_domains_mode registered refuses every other host")
OTHERS_PASS = _("domains are registered, but authorized_domains_mode any refuses no other host")


def domains_warning() -> str:
    """Return why mode and registered domains contradict each other, empty if they do not.

    The domains that come with the installation do not count.
    """
    has_own = AuthorizedDomain.objects.exclude(created_by="").exists()
    is_registered = system_settings.current().authorized_domains_mode == DomainsMode.REGISTERED
    if has_own == is_registered:
        return ""
    return OTHERS_PASS if has_own else NONE_REGISTERED


def blocked_countries() -> QuerySet[GeoBlockRule]:
    """Return the blocked countries."""
    return GeoBlockRule.objects.all()


def waf_rules() -> QuerySet[WafRule]:
    """Return the WAF rules, switched off ones included, with their domains."""
    return WafRule.objects.select_related("domain")


def waf_rules_of(category: str, *, builtin: bool | None = None) -> QuerySet[WafRule]:
    """Return the WAF rules of a category: all of them, those that come with Gatewall, or the others."""
    rules = WafRule.objects.filter(category=category)
    return rules if builtin is None else rules.filter(builtin_key__isnull=not builtin)


def list_subscriptions() -> QuerySet[ListSubscription]:
    """Return the lists that are fetched, switched off ones included."""
    return ListSubscription.objects.all()


def builtin_rules_by_key() -> dict[str, WafRule]:
    """Return the rows of the rules that come with Gatewall."""
    return {rule.builtin_key: rule for rule in WafRule.objects.filter(builtin_key__isnull=False) if rule.builtin_key}


def registered_domain(name: str) -> AuthorizedDomain | None:
    """Return the registered domain of this very name, or None."""
    return AuthorizedDomain.objects.filter(name=name).first()
