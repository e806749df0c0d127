"""Serializers of API tokens. They never contain a token or digest."""

from rest_framework import serializers

from accounts.models import ApiToken
from gatewall.api.filters import ListFilters, at_or_after, before, text
from gatewall.api.fresh_sign_in import FreshInput
from gatewall.api.scopes import Scope
from gatewall.api.serializers import MomentField, ShapedField, TextField
from policies.serializers import NetworkField

MAX_NETWORKS = 50
_SCOPES = [scope.value for scope in Scope]


class ApiTokenInput(FreshInput):
    """Input of an API token. It expires after 90 days by default, and after 400 at the latest."""

    name = TextField(max_length=100)
    scopes = serializers.ListField(
        child=serializers.ChoiceField(choices=_SCOPES), min_length=1, max_length=len(_SCOPES)
    )
    expires_at = MomentField(required=False)
    networks = serializers.ListField(child=NetworkField(), max_length=MAX_NETWORKS, required=False)


class ApiTokenOutput(serializers.ModelSerializer[ApiToken]):
    """An API token."""

    scopes = ShapedField({"type": "array", "items": {"enum": _SCOPES}})
    networks = ShapedField({"type": "array", "items": {"type": "string"}})

    class Meta:
        model = ApiToken
        fields = (
            *("id", "created_at", "created_by", "name", "prefix", "scopes", "networks", "expires_at", "last_used_at"),
        )


class ApiTokenFilters(ListFilters):
    """Filters of the list of API tokens."""

    name, prefix = text("name", max_length=100), text("prefix", max_length=16)
    expires_at_after, expires_at_before = at_or_after("expires_at"), before("expires_at")
    last_used_at_after, last_used_at_before = at_or_after("last_used_at"), before("last_used_at")
