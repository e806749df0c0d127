"""Filters of a user's authenticator apps."""

from gatewall.api.filters import Filters, at_or_after, before, text


class TotpDeviceFilters(Filters):
    """Filters of a user's authenticator apps."""

    name = text("name", max_length=100)
    created_at_after, created_at_before = at_or_after("created_at"), before("created_at")
    last_used_at_after, last_used_at_before = at_or_after("last_used_at"), before("last_used_at")
