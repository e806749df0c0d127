"""Serializers of access rules."""

from collections.abc import Callable
from typing import Any, ClassVar

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from audit.figures.used_resources import LastHitOutput
from gatewall.api.filters import ListFilters, at_or_after, before, flag, one_of, text, whole_number
from gatewall.api.serializers import FlagField, MomentField, StrictInput, TextField, WholeNumberField
from gatewall.engine.access_rules.rules import PathMatch, RuleCredential
from gatewall.engine.hosts import Access
from policies import access_conditions as conditions
from policies.filters import domain_filter
from policies.groups.serializers import GroupsField
from policies.models import AccessRule
from policies.serializers import NetworkField, RegisteredDomainsField
from policies.validators import canonical_country

_MATCHES = [each.value for each in PathMatch]
_KINDS = [each.value for each in RuleCredential]
_WINDOW = {"from": "from_time", "until": "until_time"}
"""The fields of a time window, which are added later because ``from`` cannot be a Python attribute."""


class _DistinctField(serializers.ListField):
    """A list from which repeated values are removed; its length is checked before its values."""

    def __init__(self, *, max_length: int = conditions.MAX_MEMBERS, **options: Any) -> None:
        super().__init__(max_length=max_length, required=False, **options)
        self._most = max_length

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, list) and len(data) > self._most:
            self.fail("max_length", max_length=self._most)
        values = super().to_internal_value(data)
        return [value for place, value in enumerate(values) if value not in values[:place]]


class _CanonicalField(TextField):
    """A text in any accepted spelling; validates to the canonical one."""

    def __init__(self, canonical: Callable[[str], str], **options: Any) -> None:
        super().__init__(max_length=64, **options)
        self._canonical = canonical

    def to_internal_value(self, data: Any) -> str:
        return self._canonical(super().to_internal_value(data))


def methods_field() -> serializers.Field[Any, Any, Any, Any]:
    """Return the field of a list of HTTP methods; an empty list means every method."""
    return _DistinctField(child=_CanonicalField(conditions.canonical_method))


class AccessRulePath(StrictInput):
    """A path of a rule; the value is canonical."""

    match = serializers.ChoiceField(choices=_MATCHES)
    value = TextField(max_length=conditions.MAX_PATH, trim_whitespace=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        missing = {name: field for name, field in self.fields.items() if name not in attrs}
        if missing:  # a partial update may omit fields of the rule, but not of a path
            words = {name: [field.error_messages["required"]] for name, field in missing.items()}
            raise serializers.ValidationError(words, code="required")
        try:
            conditions.validate_path(attrs["match"], attrs["value"])
        except ValidationError as error:
            raise serializers.ValidationError({"value": error.messages}, code=error.code) from None
        return attrs


class UsersField(serializers.ListField):
    """Names of users in any letter case; validates to their rows."""

    default_error_messages = {"unknown": _("there is no user {name}")}

    def __init__(self) -> None:
        super().__init__(child=TextField(max_length=64), max_length=conditions.MAX_MEMBERS, required=False)

    def to_internal_value(self, data: Any) -> list[Any]:
        names = super().to_internal_value(data)
        rows = get_user_model()._default_manager.annotate(lower=Lower("username"))  # noqa: SLF001 - documented API
        found = {user.lower: user for user in rows.filter(lower__in={name.lower() for name in names})}
        text = self.error_messages["unknown"]
        unknown = {
            str(number): [text.format(name=name)] for number, name in enumerate(names) if name.lower() not in found
        }
        if unknown:
            raise serializers.ValidationError(unknown, code="unknown")
        return list(found.values())


class AccessRuleInput(StrictInput):
    """An access rule as sent; an empty condition does not restrict."""

    position = WholeNumberField(min_value=1, max_value=conditions.MAX_RULES, required=False)
    name = TextField(max_length=100)
    enabled = FlagField(required=False)
    access = serializers.ChoiceField(choices=[access.value for access in Access])
    domains = RegisteredDomainsField(required=False)
    paths = _DistinctField(child=AccessRulePath(), max_length=conditions.MAX_PATHS)
    methods = methods_field()
    networks = _DistinctField(child=NetworkField())
    countries = _DistinctField(child=_CanonicalField(canonical_country))
    asns = _DistinctField(child=WholeNumberField(min_value=1, max_value=conditions.MAX_ASN))
    weekdays = _DistinctField(child=serializers.ChoiceField(choices=conditions.WEEKDAYS))
    time_zone = TextField(max_length=64, required=False, validators=[conditions.validate_time_zone])
    groups = GroupsField(required=False, max_length=conditions.MAX_MEMBERS)
    users = UsersField()
    credential_kinds = _DistinctField(child=serializers.ChoiceField(choices=_KINDS))
    rate_per_minute = WholeNumberField(min_value=0, max_value=1_000_000, required=False)
    app_token_header = _CanonicalField(conditions.canonical_header, allow_blank=True, required=False)
    expires_at = MomentField(allow_null=True, required=False)
    remark = TextField(max_length=500, allow_blank=True, required=False)
    force = FlagField(required=False)

    def get_fields(self) -> dict[str, Any]:
        return {**super().get_fields(), **{name: _time(source) for name, source in _WINDOW.items()}}


class _TimeField(TextField):
    """A time of day like 09:30, or null."""

    openapi: ClassVar[dict[str, Any]] = {"pattern": conditions.TIME_PATTERN}


def _time(source: str) -> TextField:
    validators = [conditions.validate_time]
    return _TimeField(source=source, max_length=5, allow_null=True, required=False, validators=validators)


class AccessRuleOutput(LastHitOutput, serializers.ModelSerializer[AccessRule]):
    """An access rule."""

    domains = serializers.SlugRelatedField[Any](slug_field="name", many=True, read_only=True)
    groups = serializers.SlugRelatedField[Any](slug_field="name", many=True, read_only=True)
    users = serializers.SlugRelatedField[Any](slug_field="username", many=True, read_only=True)
    paths = serializers.ListField(child=AccessRulePath())
    methods = serializers.ListField(child=serializers.CharField())
    networks = serializers.ListField(child=serializers.CharField())
    countries = serializers.ListField(child=serializers.CharField())
    asns = serializers.ListField(child=serializers.IntegerField())
    weekdays = serializers.ListField(child=serializers.ChoiceField(choices=conditions.WEEKDAYS))
    credential_kinds = serializers.ListField(child=serializers.ChoiceField(choices=_KINDS))

    class Meta:
        model = AccessRule
        fields = (
            *("id", "created_at", "created_by", "position", "name", "enabled", "access", "domains", "paths", "methods"),
            *("networks", "countries", "asns", "weekdays", "time_zone", "groups", "users", "credential_kinds"),
            *("rate_per_minute", "app_token_header", "expires_at", "remark", "hits", "last_hit_at"),
        )

    def get_fields(self) -> dict[str, Any]:
        window = {name: serializers.CharField(source=source, allow_null=True) for name, source in _WINDOW.items()}
        return {**super().get_fields(), **window}


class AccessRuleFilters(ListFilters):
    """Filters of the access rules."""

    position = whole_number("position", least=1, most=conditions.MAX_RULES)
    name = text("name", max_length=100)
    enabled = flag("enabled")
    access = one_of("access", Access)
    domain = domain_filter("domains")
    group = text("groups__name", max_length=64)
    user = text("users__username", max_length=64, lookup="iexact")
    rate_per_minute = whole_number("rate_per_minute", most=1_000_000)
    app_token_header = text("app_token_header", max_length=64)
    time_zone = text("time_zone", max_length=64)
    expires_at_after, expires_at_before = at_or_after("expires_at"), before("expires_at")
