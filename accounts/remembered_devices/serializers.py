"""Serializers of remembered devices."""

from rest_framework import serializers

from accounts.filters import address
from accounts.remembered_models import RememberedDevice
from gatewall.api.filters import Filters, at_or_after, before, text


class RememberedDeviceOutput(serializers.ModelSerializer[RememberedDevice]):
    """A browser in which the user is not asked for the second factor, without its secret."""

    class Meta:
        model = RememberedDevice
        fields = ("id", "created_at", "expires_at", "last_used_at", "client_ip", "user_agent")
        read_only_fields = fields


class RememberedDeviceFilters(Filters):
    """Filters of a user's remembered devices."""

    client_ip = text("client_ip", max_length=64, parse=address)
    created_at_after, created_at_before = at_or_after("created_at"), before("created_at")
    expires_at_after, expires_at_before = at_or_after("expires_at"), before("expires_at")
    last_used_at_after, last_used_at_before = at_or_after("last_used_at"), before("last_used_at")
