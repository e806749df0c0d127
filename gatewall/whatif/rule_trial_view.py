"""API view that tries WAF rules on a hypothetical request."""

from typing import Any

from django.core.exceptions import ValidationError
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gatewall.api.operations import operation
from gatewall.api.scopes import POLICY
from gatewall.api.serializers import ShapedField, StrictInput
from gatewall.api.views import ApiView
from gatewall.engine.model import Action
from gatewall.engine.snapshot import EnforcementMode
from gatewall.engine.waf.rules import Category
from gatewall.replay.explanation import MadeUpRequest
from gatewall.whatif.explain_view import HeadersField, WireField
from gatewall.whatif.rule_trial import try_request
from gatewall.whatif.shapes import FLAG, NUMBER, PLACES, TEXT, list_of
from policies.rules.serializers import WafRuleInput

MAX_URI = 16_384
MAX_BODY = 131_072  # more than the rules inspect, so that truncation can be tried


class RuleTrialInput(StrictInput):
    """A hypothetical request and, optionally, an unsaved rule."""

    uri = WireField(max_bytes=MAX_URI)
    method = WireField(required=False)
    host = WireField(required=False)
    headers = HeadersField(required=False)
    body = WireField(max_bytes=MAX_BODY, required=False)
    rule = WafRuleInput(required=False)

    def made_up(self) -> MadeUpRequest:
        values = self.validated_data
        return MadeUpRequest(
            client="192.0.2.1",
            host=values.get("host", "localhost"),
            method=values.get("method", "GET"),
            uri=values["uri"],
            headers=values.get("headers", ()),
        )

    def sent_body(self) -> bytes | None:
        body = self.validated_data.get("body")
        return None if body is None else str(body).encode("latin-1")

    def draft(self) -> dict[str, Any] | None:
        rule = self.validated_data.get("rule")
        return None if rule is None else {name: rule[name] for name in rule if name != "force"}


_CATEGORY = {"type": "string", "enum": [*Category]}
_ACTION = {"type": "string", "enum": [*Action]}
_RULE = {
    "id": {"type": ["integer", "null"]},
    "name": TEXT,
    "builtin": FLAG,
    "draft": FLAG,
    "category": _CATEGORY,
    "score": NUMBER,
    "action": _ACTION,
    "counts": FLAG,
    "places": PLACES,
}


class RuleTrialOutput(serializers.Serializer[Any]):
    """The matching rules, their places and scores, and whether the WAF would block the request."""

    blocked = serializers.BooleanField()
    waf_mode = serializers.ChoiceField(choices=[*EnforcementMode])
    waf_threshold = serializers.IntegerField()
    scores = ShapedField(list_of({"category": _CATEGORY, "block": NUMBER, "monitor": NUMBER}))
    rules = ShapedField(list_of(_RULE))
    domain = serializers.CharField(allow_null=True)
    fault = serializers.CharField(allow_null=True)
    warnings = serializers.ListField(child=serializers.CharField())
    policy_revision = serializers.IntegerField()


class RuleTrial(ApiView):
    """Trial of the WAF on a hypothetical request."""

    area = POLICY

    @operation(body=RuleTrialInput, answer=RuleTrialOutput, reads=True)
    def post(self, request: Request) -> Response:
        """Try the WAF rules, and optionally an unsaved rule, on a hypothetical request."""
        form = RuleTrialInput(data=request.data)
        form.is_valid(raise_exception=True)
        try:
            return Response(try_request(form.made_up(), form.sent_body(), form.draft()))
        except ValidationError as error:
            raise ValidationError({f"rule.{field}": words for field, words in error.error_dict.items()}) from None
