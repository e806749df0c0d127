"""Filters of a user's passkeys."""

from gatewall.api.filters import ListFilters, at_or_after, before, flag, text


class PasskeyFilters(ListFilters):
    """Filters of a user's passkeys."""

    name, rp_id = text("name", max_length=100), text("rp_id", max_length=253)
    backed_up = flag("backed_up")
    last_used_at_after, last_used_at_before = at_or_after("last_used_at"), before("last_used_at")
