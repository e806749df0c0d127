"""API view of suggested access rules."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gatewall.api.operations import operation
from gatewall.api.queries import refuse_unknown_parameters
from gatewall.api.scopes import LOGS
from gatewall.api.serializers import MomentField, ShapedField
from gatewall.api.views import ApiView
from gatewall.engine.access_rules.rules import PathMatch
from gatewall.engine.hosts import Access
from gatewall.replay.rule_suggestions import Requests, SuggestedRule, Suggestion
from gatewall.whatif.rule_suggestions import Suggestions, suggestions_for
from gatewall.whatif.shapes import NUMBER, TEXT, list_of, object_of
from policies.models import AuthorizedDomain
from policies.serializers import RegisteredDomainField

_HOUR, _WEEK, _MONTH = 3_600, 604_800, 2_592_000
PARAMETERS = {
    "domain": {"type": "string", "maxLength": 255},
    "window": {"type": "integer", "minimum": _HOUR, "maximum": _MONTH, "default": _WEEK, "description": "In seconds."},
}
_LONGEST_NAME = 100
_TEXTS = {"type": "array", "items": TEXT}
_RULE = object_of(
    {
        "name": TEXT,
        "domains": _TEXTS,
        "methods": _TEXTS,
        "paths": list_of({"match": {"type": "string", "enum": [*PathMatch]}, "value": TEXT}),
        "access": {"type": "string", "enum": [Access.PUBLIC]},
    }
)
_MOMENT = {"type": "string", "format": "date-time"}
_REQUESTS = {
    "program": TEXT,
    "requests": NUMBER,
    "clients": NUMBER,
    "first_at": _MOMENT,
    "last_at": _MOMENT,
    "decision_ids": _TEXTS,
}


class AskedSuggestions(serializers.Serializer[Any]):
    """The domain, and the window of the log in seconds."""

    domain = RegisteredDomainField()
    window = serializers.IntegerField(min_value=_HOUR, max_value=_MONTH, default=_WEEK)

    def answer(self) -> Suggestions:
        """Return the suggestions from the window that ends now."""
        domain: AuthorizedDomain = self.validated_data["domain"]
        now = timezone.now()
        return suggestions_for(domain.name, now - timedelta(seconds=self.validated_data["window"]), now)


class SuggestionsOutput(serializers.Serializer[Any]):
    """Suggested rules by program: the evidence, the requests they miss, and what else they would have let in."""

    domain = serializers.CharField()
    start_time = MomentField()
    end_time = MomentField()
    requests = serializers.IntegerField()
    complete = serializers.BooleanField()
    suggestions = ShapedField(
        list_of(
            {
                "rules": {"type": "array", "items": _RULE},
                "evidence": object_of(_REQUESTS),
                "missed": NUMBER,
                "also_lets_in": list_of(_REQUESTS),
            }
        )
    )


class RuleSuggestions(ApiView):
    """Access rules that the log suggests for a domain."""

    area = LOGS

    @operation(answer=SuggestionsOutput, parameters=PARAMETERS)
    def get(self, request: Request) -> Response:
        """Suggest rules for programs that were refused for lack of a credential; nothing is changed."""
        refuse_unknown_parameters(request, PARAMETERS)
        form = AskedSuggestions(data=request.query_params.dict())
        form.is_valid(raise_exception=True)
        found = form.answer()
        body = {
            "domain": found.domain,
            "start_time": found.start,
            "end_time": found.end,
            "requests": found.read,
            "complete": found.is_complete,
            "suggestions": as_json(found),
        }
        return Response(SuggestionsOutput(body).data)


def as_json(found: Suggestions) -> list[dict[str, Any]]:
    """Return the suggestions with their rules as bodies for ``POST /access-rules``, all with different names."""
    names: set[str] = set()
    return [_suggestion(each, found.domain, names) for each in found.found]


def _suggestion(suggestion: Suggestion, domain: str, names: set[str]) -> dict[str, Any]:
    return {
        "rules": [_rule(rule, suggestion.evidence.program, domain, names) for rule in suggestion.rules],
        "evidence": _requests(suggestion.evidence),
        "missed": suggestion.missed,
        "also_lets_in": [_requests(each) for each in suggestion.others],
    }


def _rule(rule: SuggestedRule, program: str, domain: str, names: set[str]) -> dict[str, Any]:
    return {
        "name": _new_name(f"{f'{program} at {domain}'[:70]}: {', '.join(rule.methods)}", names),
        "domains": [domain],
        "methods": list(rule.methods),
        "paths": [{"match": path.match.value, "value": path.value} for path in rule.paths],
        "access": Access.PUBLIC.value,
    }


def _new_name(text: str, names: set[str]) -> str:
    """Return the text as a name that is not among the names, with a number if necessary; add it to them."""
    numbers = ("", *(f" ({number})" for number in range(1, len(names) + 1)))
    name = next(new for end in numbers if (new := text[: _LONGEST_NAME - len(end)] + end) not in names)
    names.add(name)
    return name


def _requests(requests: Requests) -> dict[str, Any]:
    return {
        "program": requests.program,
        "requests": requests.number,
        "clients": len(requests.clients),
        "first_at": _moment(requests.first_at),
        "last_at": _moment(requests.last_at),
        "decision_ids": requests.examples,
    }


def _moment(at: float) -> str:
    text: str = MomentField().to_representation(datetime.fromtimestamp(at, UTC))
    return text
