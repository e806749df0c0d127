"""Serializers of identity providers. The client secret is write-only."""

from typing import Any

from django.core.validators import RegexValidator
from rest_framework import serializers

from accounts.identity_providers import validators
from accounts.provider_models import SLUG_PATTERN, IdentityProvider
from gatewall.api.filters import ListFilters, flag, text
from gatewall.api.serializers import FlagField, ShapedField, StrictInput, TextField
from policies.serializers import RegisteredDomainsField

_CLAIM = RegexValidator(rf"^{validators.CLAIM_PATTERN}\Z")
_GROUP_MAP = {
    "type": "object",
    "additionalProperties": {
        "type": "array",
        "items": {"type": "string", "maxLength": 64},
        "maxItems": validators.MAX_GROUPS_OF_A_VALUE,
    },
    "maxProperties": validators.MAX_VALUES,
}


class GroupMapField(serializers.DictField):
    """For each value of the groups claim, the names of the groups that it gives; validates to ``mapped_groups``."""

    def __init__(self, **options: Any) -> None:
        names = serializers.ListField(child=TextField(max_length=64), max_length=validators.MAX_GROUPS_OF_A_VALUE)
        super().__init__(child=names, **options)

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict) and len(data) > validators.MAX_VALUES:
            raise serializers.ValidationError(f"at most {validators.MAX_VALUES} values", code="max-length")
        if isinstance(data, dict) and not all(0 < len(value) <= validators.LONGEST_VALUE for value in data):
            raise serializers.ValidationError(f"values have 1 to {validators.LONGEST_VALUE} characters")
        return super().to_internal_value(data)


class IdentityProviderInput(StrictInput):
    """Input of an identity provider; requires the caller's password or a code unless their sign-in is fresh."""

    slug = TextField(max_length=32, validators=[RegexValidator(SLUG_PATTERN)])
    name = TextField(max_length=64)
    issuer = TextField(max_length=500)
    client_id = TextField(max_length=255)
    client_secret = TextField(max_length=500, allow_blank=True, trim_whitespace=False, write_only=True, required=False)
    scopes = serializers.ListField(
        child=TextField(max_length=100, validators=[RegexValidator(rf"^{validators.SCOPE_PATTERN}\Z")]),
        max_length=validators.MAX_SCOPES,
        required=False,
    )
    username_claim = TextField(max_length=64, validators=[_CLAIM], required=False)
    groups_claim = TextField(max_length=64, allow_blank=True, validators=[_CLAIM], required=False)
    group_map = GroupMapField(required=False)
    group_map_gives_admin = FlagField(required=False)
    create_users = FlagField(required=False)
    link_verified_email = FlagField(required=False)
    allowed_email_domains = serializers.ListField(
        child=TextField(max_length=255), max_length=validators.MAX_EMAIL_DOMAINS, required=False
    )
    trust_amr = FlagField(required=False)
    domains = RegisteredDomainsField(required=False)
    enabled = FlagField(required=False)
    allow_private = FlagField(required=False)
    current_password = TextField(max_length=1024, trim_whitespace=False, write_only=True, required=False)
    code = TextField(max_length=64, write_only=True, required=False)


class IdentityProviderOutput(serializers.ModelSerializer[IdentityProvider]):
    """An identity provider, without its client secret."""

    scopes = ShapedField({"type": "array", "items": {"type": "string"}})
    group_map = ShapedField(_GROUP_MAP, read_only=True)
    allowed_email_domains = ShapedField({"type": "array", "items": {"type": "string"}})
    domains = ShapedField({"type": "array", "items": {"type": "string"}})
    has_client_secret = serializers.BooleanField(read_only=True)

    class Meta:
        model = IdentityProvider
        fields = (
            *("id", "created_at", "created_by", "slug", "name", "issuer", "client_id", "has_client_secret", "scopes"),
            *("username_claim", "groups_claim", "group_map", "group_map_gives_admin", "create_users"),
            *("link_verified_email", "allowed_email_domains", "trust_amr", "domains", "enabled", "allow_private"),
        )


class IdentityProviderFilters(ListFilters):
    """Filters of the list of identity providers."""

    slug, name = text("slug", max_length=32), text("name", max_length=64)
    issuer, client_id = text("issuer", max_length=500), text("client_id", max_length=255)
    group_map_gives_admin, create_users = flag("group_map_gives_admin"), flag("create_users")
    link_verified_email, trust_amr = flag("link_verified_email"), flag("trust_amr")
    enabled, allow_private = flag("enabled"), flag("allow_private")
