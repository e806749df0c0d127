"""Filters of the list of API tokens."""

from gatewall.api.filters import ListFilters, at_or_after, before, text


class ApiTokenFilters(ListFilters):
    """Filters of the list of API tokens."""

    name, prefix = text("name", max_length=100), text("prefix", max_length=16)
    expires_at_after, expires_at_before = at_or_after("expires_at"), before("expires_at")
    last_used_at_after, last_used_at_before = at_or_after("last_used_at"), before("last_used_at")
