"""Serializers of WAF rules."""

from typing import Any

from rest_framework import serializers

from audit.figures.used_resources import LastHitOutput
from gatewall.api.filters import ListFilters, flag, is_set, one_of, text, whole_number
from gatewall.api.serializers import FlagField, ShapedField, StrictInput, TextField, WholeNumberField
from gatewall.engine.model import Action
from gatewall.engine.waf.rules import Category, Operator, Severity, Target, Transform
from policies import validators
from policies.exclusions import TEXTS, validate_exclusions
from policies.filters import domain_filter
from policies.models import WafRule
from policies.serializers import RegisteredDomainField

_TEXT = {"type": ["string", "null"], "maxLength": 500}
_TARGETS = {"type": "array", "items": {"enum": [*Target]}, "minItems": 1}
_TRANSFORMS = {"type": "array", "items": {"enum": [*Transform]}, "maxItems": validators.MAX_TRANSFORMS}
_EXPIRY = {"type": ["string", "null"], "format": "date-time"}
_EXCLUSIONS = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {**dict.fromkeys(TEXTS, _TEXT), "expires_at": _EXPIRY},
        "additionalProperties": False,
    },
}


class WafRuleInput(StrictInput):
    """A WAF rule as sent."""

    name = TextField(max_length=100)
    pattern = TextField(max_length=4096, trim_whitespace=False)
    operator = serializers.ChoiceField(choices=[operator.value for operator in Operator], required=False)
    targets = ShapedField(_TARGETS, required=False, validators=[validators.validate_targets])
    transforms = ShapedField(_TRANSFORMS, required=False, validators=[validators.validate_transforms])
    category = serializers.ChoiceField(choices=[category.value for category in Category], required=False)
    severity = serializers.ChoiceField(choices=[severity.value for severity in Severity], required=False)
    score = WholeNumberField(min_value=1, max_value=10, required=False)
    action = serializers.ChoiceField(choices=[action.value for action in Action], required=False)
    priority = WholeNumberField(min_value=0, max_value=1_000_000, required=False)
    enabled = FlagField(required=False)
    domain = RegisteredDomainField(allow_null=True, required=False)
    path_prefix = TextField(
        max_length=500, allow_null=True, required=False, validators=[validators.validate_path_prefix]
    )
    exclusions = ShapedField(_EXCLUSIONS, required=False, validators=[validate_exclusions])
    description = TextField(max_length=1000, allow_blank=True, required=False)
    force = FlagField(required=False)


class WafRuleOutput(LastHitOutput, serializers.ModelSerializer[WafRule]):
    """A WAF rule."""

    domain = serializers.CharField(source="domain.name", default=None, allow_null=True)
    builtin = serializers.BooleanField()
    targets, transforms, exclusions = ShapedField(_TARGETS), ShapedField(_TRANSFORMS), ShapedField(_EXCLUSIONS)

    class Meta:
        model = WafRule
        fields = (
            *(
                "id",
                "created_at",
                "created_by",
                "name",
                "pattern",
                "operator",
                "targets",
                "transforms",
                "category",
                "severity",
            ),
            *("score", "action", "priority", "enabled", "domain", "path_prefix", "exclusions", "description"),
            *("builtin", "hits", "last_hit_at"),
        )


class WafRuleFilters(ListFilters):
    """Filters of the WAF rules."""

    name = text("name", max_length=100)
    operator = one_of("operator", Operator)
    category = one_of("category", Category)
    severity = one_of("severity", Severity)
    score = whole_number("score", least=1, most=10)
    action = one_of("action", Action)
    priority = whole_number("priority", most=1_000_000)
    enabled = flag("enabled")
    builtin = is_set("builtin_key")
    domain = domain_filter()
    path_prefix = text("path_prefix", max_length=500)


class WafRuleBatchInput(StrictInput):
    """Changes for all WAF rules of a category; omitted fields are not changed."""

    category = serializers.ChoiceField(choices=[category.value for category in Category])
    builtin = FlagField(required=False)
    enabled = FlagField(required=False)
    action = serializers.ChoiceField(choices=[action.value for action in Action], required=False)
    force = FlagField(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "enabled" not in attrs and "action" not in attrs:
            raise serializers.ValidationError({"enabled": ["send enabled, action or both"]}, code="required")
        return attrs


class WafRuleBatchOutput(serializers.Serializer[Any]):
    """The number of selected rules of the category, and how many changed."""

    category = serializers.CharField()
    matched = serializers.IntegerField()
    changed = serializers.IntegerField()
    policy_pending = serializers.BooleanField(required=False)
