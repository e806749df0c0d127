"""Filters of a user's remembered devices."""

from accounts.filters import address
from gatewall.api.filters import ListFilters, at_or_after, before, text


class RememberedDeviceFilters(ListFilters):
    """Filters of a user's remembered devices."""

    client_ip = text("client_ip", max_length=64, parse=address)
    expires_at_after, expires_at_before = at_or_after("expires_at"), before("expires_at")
    last_used_at_after, last_used_at_before = at_or_after("last_used_at"), before("last_used_at")
