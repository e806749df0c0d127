"""The JSON of machine credentials: what is accepted, and what is shown. Never a token or digest."""

from typing import Any

from rest_framework import serializers

from audit.figures.used_resources import LastUsedOutput, UsesOutput
from gatewall.api.fresh_sign_in import FreshInput
from gatewall.api.serializers import FlagField, MomentField, TextField
from licensing import services
from licensing.models import GitToken, License
from policies.domain_fields import RegisteredDomainsField

_SHOWN = ("id", "created_at", "created_by", "name", "prefix", "expires_at")


class LicenseInput(FreshInput):
    """A license as sent."""

    name = TextField(max_length=100)
    expires_at = MomentField(allow_null=True, required=False)
    is_active = FlagField(required=False)
    all_domains = FlagField(required=False)
    authorized_domains = RegisteredDomainsField(required=False)
    remark = TextField(max_length=500, allow_blank=True, required=False)


class LicenseOutput(UsesOutput, serializers.ModelSerializer[License]):
    """A license as shown."""

    authorized_domains = serializers.SlugRelatedField[Any](slug_field="name", many=True, read_only=True)

    class Meta:
        model = License
        fields = (*_SHOWN, "is_active", "all_domains", "authorized_domains", "remark", "last_used_at", "uses")


class GitTokenInput(FreshInput):
    """A git token as asked for. It expires after 90 days, unless another moment or null is asked for."""

    name = TextField(max_length=100)
    expires_at = MomentField(allow_null=True, default=services.usual_end_of_git_token)


class GitTokenOutput(LastUsedOutput, serializers.ModelSerializer[GitToken]):
    """A git token as shown."""

    class Meta:
        model = GitToken
        fields = (*_SHOWN, "last_used_at")
