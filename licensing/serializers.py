"""Serializers of machine credentials. They never contain a token or digest."""

from typing import Any

from rest_framework import serializers

from audit.figures.used_resources import LastUsedOutput, ProgramOutput, UsesOutput
from gatewall.api.filters import ListFilters, at_or_after, before, flag, text
from gatewall.api.fresh_sign_in import FreshInput
from gatewall.api.serializers import FlagField, MomentField, TextField
from licensing import services
from licensing.models import AppToken, GitToken, License
from policies.access_conditions import MAX_PATH, MAX_PREFIXES, validate_path_prefixes
from policies.serializers import RegisteredDomainsField, ScopeInput
from policies.validators import canonical_domain

_COMMON_FIELDS = ("id", "created_at", "created_by", "name", "prefix", "expires_at")


class LicenseInput(FreshInput):
    """Input of a license."""

    name = TextField(max_length=100)
    expires_at = MomentField(allow_null=True, required=False)
    is_active = FlagField(required=False)
    all_domains = FlagField(required=False)
    authorized_domains = RegisteredDomainsField(required=False)
    remark = TextField(max_length=500, allow_blank=True, required=False)


class LicenseScopeInput(ScopeInput):
    """A license's domains, expiry and active flag, as sent."""

    expires_at = MomentField(allow_null=True, required=False)
    is_active = FlagField(required=False)


class LicenseOutput(UsesOutput, serializers.ModelSerializer[License]):
    """A license."""

    authorized_domains = serializers.SlugRelatedField[Any](slug_field="name", many=True, read_only=True)

    class Meta:
        model = License
        fields = (*_COMMON_FIELDS, "is_active", "all_domains", "authorized_domains", "remark", "last_used_at", "uses")


class GitTokenInput(FreshInput):
    """Input of a git token. It expires after 90 days by default; null means never."""

    name = TextField(max_length=100)
    expires_at = MomentField(allow_null=True, default=services.usual_end_of_token)


class GitTokenOutput(LastUsedOutput, serializers.ModelSerializer[GitToken]):
    """A git token."""

    class Meta:
        model = GitToken
        fields = (*_COMMON_FIELDS, "last_used_at")


class AppTokenInput(FreshInput):
    """Input of an app token, which needs domains or ``all_domains``. It expires after 90 days; null means never."""

    name = TextField(max_length=100)
    expires_at = MomentField(allow_null=True, default=services.usual_end_of_token)
    all_domains = FlagField(required=False)
    authorized_domains = RegisteredDomainsField(required=False)
    path_prefixes = serializers.ListField(
        child=TextField(max_length=MAX_PATH, trim_whitespace=False),
        max_length=MAX_PREFIXES,
        required=False,
        validators=[validate_path_prefixes],
    )


class AppTokenOutput(ProgramOutput, serializers.ModelSerializer[AppToken]):
    """An app token."""

    authorized_domains = serializers.SlugRelatedField[Any](slug_field="name", many=True, read_only=True)
    path_prefixes = serializers.ListField(child=serializers.CharField())

    class Meta:
        model = AppToken
        fields = (*_COMMON_FIELDS, "all_domains", "authorized_domains", "path_prefixes", "last_used_at", "last_used_by")


class LicenseFilters(ListFilters):
    """Filters of the list of licenses."""

    name, prefix = text("name", max_length=100), text("prefix", max_length=16)
    is_active, all_domains = flag("is_active"), flag("all_domains")
    authorized_domain = text("authorized_domains__name", max_length=255, parse=canonical_domain)
    expires_at_after, expires_at_before = at_or_after("expires_at"), before("expires_at")


class TokenFilters(ListFilters):
    """Filters of a user's git tokens, and of their app tokens."""

    name, prefix = text("name", max_length=100), text("prefix", max_length=16)
    expires_at_after, expires_at_before = at_or_after("expires_at"), before("expires_at")
