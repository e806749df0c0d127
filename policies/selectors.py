"""Queries of policy rows. Read-only."""

from datetime import datetime
from typing import Any

from django.db.models import Count, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from gatewall.engine.messages import gettext_noop as _
from gatewall.engine.snapshot import DomainsMode
from gatewall.policy import system_settings
from policies.models import (
    AUTO_BAN,
    AccessRule,
    AllowlistEntry,
    AuthorizedDomain,
    BlocklistEntry,
    Grant,
    Group,
    ShareLink,
    WafRule,
)


def number_of_bans(at: datetime) -> int:
    """Return the number of automatic bans that have not expired. The cost does not depend on imported lists."""
    live = Q(expires_at__isnull=True) | Q(expires_at__gt=at)
    return BlocklistEntry.objects.filter(live, source=AUTO_BAN).count()


def allowed_networks() -> QuerySet[AllowlistEntry]:
    """Return the allowlist, with the domains of its entries."""
    return AllowlistEntry.objects.select_related("domain")


NONE_REGISTERED = _("no domain of yours is registered, and authorized_domains_mode registered refuses every other host")
OTHERS_PASS = _("domains are registered, but authorized_domains_mode any refuses no other host")


def domains_warning() -> str:
    """Return a warning if ``authorized_domains_mode`` contradicts the registered domains, else an empty text.

    The installation's own domains do not count.
    """
    has_own = has_site()
    is_registered = system_settings.current().authorized_domains_mode == DomainsMode.REGISTERED
    if has_own == is_registered:
        return ""
    return OTHERS_PASS if has_own else NONE_REGISTERED


def waf_rules() -> QuerySet[WafRule]:
    """Return all WAF rules, with their domains."""
    return WafRule.objects.select_related("domain")


def groups() -> QuerySet[Group]:
    """Return the groups with domains and ``member_count``."""
    links: QuerySet[Any] = Group.users.through.objects.filter(group=OuterRef("pk"))
    number = links.order_by().values("group").annotate(number=Count("pk")).values("number")
    counted = Group.objects.annotate(member_count=Coalesce(Subquery(number, output_field=IntegerField()), 0))
    return counted.prefetch_related("authorized_domains").order_by("id")


def access_rules() -> QuerySet[AccessRule]:
    """Return all access rules in their order, with the rows that they name."""
    return AccessRule.objects.prefetch_related("domains", "groups", "users")


def grants() -> QuerySet[Grant]:
    """Return the grants, with their users, groups and domains."""
    return Grant.objects.select_related("user", "group", "domain")


def share_links() -> QuerySet[ShareLink]:
    """Return the share links with their domains, and in ``uses`` how many browsers have opened each."""
    return ShareLink.objects.select_related("domain").annotate(uses=Count("openings")).order_by("id")


def share_links_with(*, id: int) -> QuerySet[ShareLink]:  # noqa: A002 - the field's name
    """Return the query set of the share link with this id."""
    return ShareLink.objects.filter(pk=id)


def has_site() -> bool:
    """Return whether a person registered a domain: the installation's own domains do not count."""
    return AuthorizedDomain.objects.exclude(created_by="").exists()
