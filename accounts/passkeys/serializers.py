"""Serializers of passkeys. They never contain a key."""

from rest_framework import serializers

from accounts.models import Passkey
from accounts.sign_in.serializers import CredentialField
from gatewall.api.filters import ListFilters, at_or_after, before, flag, text
from gatewall.api.serializers import ShapedField, StrictInput, TextField


class PasskeyInput(StrictInput):
    """The name of a passkey."""

    name = TextField(max_length=100)


class RegistrationInput(PasskeyInput):
    """Input of a new passkey: its name, and ``credential.toJSON()`` of the browser."""

    credential = CredentialField()


class PasskeyOutput(serializers.ModelSerializer[Passkey]):
    """A passkey, without its key."""

    transports = ShapedField({"type": "array", "items": {"type": "string"}})

    class Meta:
        model = Passkey
        fields = ("id", "created_at", "created_by", "name", "last_used_at", "transports", "backed_up", "rp_id")
        read_only_fields = fields


class RegisteredOutput(PasskeyOutput):
    """A new passkey, and the recovery codes if it is the user's first second factor."""

    recovery_codes = serializers.ListField(child=serializers.CharField(), required=False)

    class Meta:
        model = Passkey
        fields = (*PasskeyOutput.Meta.fields, "recovery_codes")
        read_only_fields = fields


class PasskeyFilters(ListFilters):
    """Filters of a user's passkeys."""

    name, rp_id = text("name", max_length=100), text("rp_id", max_length=253)
    backed_up = flag("backed_up")
    last_used_at_after, last_used_at_before = at_or_after("last_used_at"), before("last_used_at")
