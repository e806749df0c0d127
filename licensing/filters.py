"""Filters of the lists of machine credentials."""

from gatewall.api.filters import ListFilters, at_or_after, before, flag, text
from policies.validators import canonical_domain


class LicenseFilters(ListFilters):
    """Filters of the list of licenses."""

    name, prefix = text("name", max_length=100), text("prefix", max_length=16)
    is_active, all_domains = flag("is_active"), flag("all_domains")
    authorized_domain = text("authorized_domains__name", max_length=255, parse=canonical_domain)
    expires_at_after, expires_at_before = at_or_after("expires_at"), before("expires_at")


class TokenFilters(ListFilters):
    """Filters of a user's git tokens, and of their app tokens."""

    name, prefix = text("name", max_length=100), text("prefix", max_length=16)
    expires_at_after, expires_at_before = at_or_after("expires_at"), before("expires_at")
