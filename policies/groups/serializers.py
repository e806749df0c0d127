"""Serializers of groups, and of the groups of a user."""

from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from gatewall.api.filters import ListFilters, flag, text, whole_number
from gatewall.api.serializers import FlagField, StrictInput, TextField
from policies import validators
from policies.groups.members import MAX_GROUPS_OF_A_USER
from policies.models import Group
from policies.serializers import RegisteredDomainsField


class GroupsField(serializers.ListField):
    """Names of groups; validates to their rows."""

    default_error_messages = {"unknown": _("there is no group {name}")}

    def __init__(self, *, max_length: int = MAX_GROUPS_OF_A_USER, **options: Any) -> None:
        super().__init__(child=TextField(max_length=64), max_length=max_length, **options)

    def to_internal_value(self, data: Any) -> list[Group]:
        names = super().to_internal_value(data)
        found = {group.name: group for group in Group.objects.filter(name__in=names)}
        words = self.error_messages["unknown"]
        unknown: Any = {place: [words.format(name=name)] for place, name in enumerate(names) if name not in found}
        if unknown:
            raise serializers.ValidationError(unknown)
        return list(found.values())


class GroupInput(StrictInput):
    """A group as sent."""

    name = TextField(max_length=64, validators=[validators.validate_group_name])
    description = TextField(max_length=500, allow_blank=True, required=False)
    all_domains = FlagField(required=False)
    authorized_domains = RegisteredDomainsField(required=False)


class GroupOutput(serializers.ModelSerializer[Group]):
    """A group and its number of members."""

    authorized_domains = serializers.SlugRelatedField[Any](slug_field="name", many=True, read_only=True)
    member_count = serializers.IntegerField()

    class Meta:
        model = Group
        fields = (
            *("id", "created_at", "created_by"),
            *("name", "description", "all_domains", "authorized_domains", "member_count"),
        )


class GroupFilters(ListFilters):
    """Filters of the groups."""

    name = text("name", max_length=64)
    all_domains = flag("all_domains")
    authorized_domain = text("authorized_domains__name", max_length=255, parse=validators.canonical_domain)
    member_count = whole_number("member_count", most=1_000_000)
