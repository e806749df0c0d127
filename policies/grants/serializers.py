"""Serializers of grants and share links."""

from typing import Any

from django.contrib.auth import get_user_model
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from audit.figures.used_resources import HitsOutput, LastHitOutput, LastUsedOutput, ProgramOutput
from gatewall.api.filters import ListFilters, at_or_after, before, text
from gatewall.api.fresh_sign_in import FreshInput
from gatewall.api.serializers import MomentField, StrictInput, TextField, WholeNumberField
from policies.access_conditions import validate_path_prefix
from policies.access_rules.serializers import methods_field
from policies.filters import decision_id
from policies.models import DevicePass, Grant, Group, ShareLink
from policies.models.share_links import MAX_USES
from policies.serializers import RegisteredDomainField
from policies.validators import canonical_domain

MAX_NAME = 64
"""Maximum length of the name of a user or group."""


class UserField(TextField):
    """The name of a user in any letter case; validates to the row."""

    default_error_messages = {"unknown": _("there is no user {name}")}

    def to_internal_value(self, data: Any) -> Any:
        name = super().to_internal_value(data)[:MAX_NAME]
        user = get_user_model()._default_manager.filter(username__iexact=name).first()  # noqa: SLF001 - documented API
        if user is None:
            self.fail("unknown", name=name)
        return user


class GroupField(TextField):
    """The name of a group; validates to the row."""

    default_error_messages = {"unknown": _("there is no group {name}")}

    def to_internal_value(self, data: Any) -> Any:
        name = super().to_internal_value(data)[:MAX_NAME]
        group = Group.objects.filter(name=name).first()
        if group is None:
            self.fail("unknown", name=name)
        return group


class GrantInput(StrictInput):
    """A grant as sent, for a user or a group."""

    user = UserField(allow_null=True, required=False)
    group = GroupField(allow_null=True, required=False)
    domain = RegisteredDomainField()
    path_prefix = TextField(
        max_length=500, allow_null=True, required=False, trim_whitespace=False, validators=[validate_path_prefix]
    )
    methods = methods_field()
    expires_at = MomentField()
    reason = TextField(max_length=500, allow_blank=True, required=False)
    decision_id = serializers.UUIDField(allow_null=True, required=False)


class GrantOutput(LastHitOutput, serializers.ModelSerializer[Grant]):
    """A grant."""

    user = serializers.CharField(source="user.username", allow_null=True)
    group = serializers.CharField(source="group.name", allow_null=True)
    domain = serializers.CharField(source="domain.name")
    methods = serializers.ListField(child=serializers.CharField())

    class Meta:
        model = Grant
        fields = (
            *("id", "created_at", "created_by", "user", "group", "domain", "path_prefix", "methods", "expires_at"),
            *("reason", "decision_id", "hits", "last_hit_at"),
        )


class GrantFilters(ListFilters):
    """Filters of the grants."""

    user = text("user__username", max_length=64, lookup="iexact")
    group = text("group__name", max_length=64)
    domain = text("domain__name", max_length=255, parse=canonical_domain)
    path_prefix = text("path_prefix", max_length=500)
    decision_id = decision_id("decision_id")
    expires_at_after, expires_at_before = at_or_after("expires_at"), before("expires_at")


class ShareLinkChange(StrictInput):
    """A share link as sent, without the password or code of its author."""

    name = TextField(max_length=100)
    domain = RegisteredDomainField()
    path_prefix = TextField(
        max_length=500, allow_null=True, required=False, trim_whitespace=False, validators=[validate_path_prefix]
    )
    methods = methods_field()
    expires_at = MomentField()
    max_uses = WholeNumberField(min_value=1, max_value=MAX_USES, required=False)


class ShareLinkInput(ShareLinkChange, FreshInput):
    """Input of a share link: GET and HEAD by default, for the first browser that opens it."""


class ShareLinkOutput(ProgramOutput, HitsOutput, serializers.ModelSerializer[ShareLink]):
    """A share link, without its token."""

    domain = serializers.CharField(source="domain.name")
    methods = serializers.ListField(child=serializers.CharField())
    uses = serializers.IntegerField(read_only=True)

    class Meta:
        model = ShareLink
        fields = (
            *("id", "created_at", "created_by", "name", "prefix", "domain", "path_prefix", "methods", "expires_at"),
            *("max_uses", "uses", "hits", "last_used_at", "last_used_by"),
        )


class SharedLink(serializers.Serializer[Any]):
    """The share link itself, which is returned only to its creator."""

    link = serializers.CharField()


class ShareLinkFilters(ListFilters):
    """Filters of the share links."""

    name, prefix = text("name", max_length=100), text("prefix", max_length=16)
    domain = text("domain__name", max_length=255, parse=canonical_domain)
    path_prefix = text("path_prefix", max_length=500)
    expires_at_after, expires_at_before = at_or_after("expires_at"), before("expires_at")


class DevicePassInput(FreshInput):
    """Input of a device pass; the address is the caller's."""

    domain = RegisteredDomainField()
    program = TextField(max_length=60)
    expires_at = MomentField()


class DevicePassOutput(LastUsedOutput, HitsOutput, serializers.ModelSerializer[DevicePass]):
    """A device pass."""

    domain = serializers.CharField(source="domain.name")

    class Meta:
        model = DevicePass
        fields = (
            *("id", "created_at", "created_by", "domain", "address", "program", "expires_at"),
            *("hits", "last_used_at"),
        )


class DevicePassFilters(ListFilters):
    """Filters of the device passes of a user."""

    domain = text("domain__name", max_length=255, parse=canonical_domain)
    program = text("program", max_length=60)
    expires_at_after, expires_at_before = at_or_after("expires_at"), before("expires_at")
