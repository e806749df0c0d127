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
    """Yield the sources of the blocklist, in order. One index step per source, however many entries it has."""
    names = BlocklistEntry.objects.order_by("source").values_list("source", flat=True)
    source = names.first()
    while source is not None:
        yield source
        source = names.filter(source__gt=source).first()


def number_of_bans(at: datetime) -> int:
    """Return the number of automatic bans in force. The cost does not depend on imported lists."""
    live = Q(expires_at__isnull=True) | Q(expires_at__gt=at)
    return BlocklistEntry.objects.filter(live, source=AUTO_BAN).count()


def allowed_networks() -> QuerySet[AllowlistEntry]:
    """Return the allowlist, with the domains of its entries."""
    return AllowlistEntry.objects.select_related("domain")


def authorized_domains() -> QuerySet[AuthorizedDomain]:
    """Return the registered domains."""
    return AuthorizedDomain.objects.all()


NONE_REGISTERED = _("no domain of yours is registered, and authorized_domains_mode registered refuses every other host")
OTHERS_PASS = _("domains are registered, but authorized_domains_mode any refuses no other host")


def domains_warning() -> str:
    """Return why mode and registered domains contradict each other, empty if they do not.

    Domains of the installation do not count.
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
    """Return all WAF rules, with their domains."""
    return WafRule.objects.select_related("domain")


def waf_rules_of(category: str, *, builtin: bool | None = None) -> QuerySet[WafRule]:
    """Return the WAF rules of a category: all, only built-in ones, or only custom ones."""
    rules = WafRule.objects.filter(category=category)
    return rules if builtin is None else rules.filter(builtin_key__isnull=not builtin)


def list_subscriptions() -> QuerySet[ListSubscription]:
    """Return all list subscriptions."""
    return ListSubscription.objects.all()


def builtin_rules_by_key() -> dict[str, WafRule]:
    """Return the built-in rules by ``builtin_key``."""
    return {rule.builtin_key: rule for rule in WafRule.objects.filter(builtin_key__isnull=False) if rule.builtin_key}


def registered_domain(name: str) -> AuthorizedDomain | None:
    """Return the registered domain of exactly this name, or None."""
    return AuthorizedDomain.objects.filter(name=name).first()
