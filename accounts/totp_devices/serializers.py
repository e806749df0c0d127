"""Serializers of authenticator apps. They never contain a secret."""

from rest_framework import serializers

from accounts.models import TotpDevice
from gatewall.api.filters import Filters, at_or_after, before, text
from gatewall.api.serializers import StrictInput, TextField


class TotpDeviceInput(StrictInput):
    """The name of an authenticator app."""

    name = TextField(max_length=100)


class TotpDeviceOutput(serializers.ModelSerializer[TotpDevice]):
    """An authenticator app, without its secret; ``name`` is empty if it was set up without one."""

    class Meta:
        model = TotpDevice
        fields = ("id", "created_at", "name", "last_used_at")
        read_only_fields = fields


class TotpDeviceFilters(Filters):
    """Filters of a user's authenticator apps."""

    name = text("name", max_length=100)
    created_at_after, created_at_before = at_or_after("created_at"), before("created_at")
    last_used_at_after, last_used_at_before = at_or_after("last_used_at"), before("last_used_at")
