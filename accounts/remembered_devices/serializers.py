"""Serializers of remembered devices."""

from rest_framework import serializers

from accounts.remembered_models import RememberedDevice


class RememberedDeviceOutput(serializers.ModelSerializer[RememberedDevice]):
    """A browser in which the user is not asked for the second factor, without its secret."""

    class Meta:
        model = RememberedDevice
        fields = ("id", "created_at", "expires_at", "last_used_at", "client_ip", "user_agent")
        read_only_fields = fields
