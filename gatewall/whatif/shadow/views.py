"""API of the shadow policy: set it, show its state, remove it, and put it in force."""

from functools import partial
from typing import Any

from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gatewall.api.operations import operation
from gatewall.api.scopes import POLICY, require_scopes_for
from gatewall.api.serializers import StrictInput, WholeNumberField
from gatewall.api.views import ApiView
from gatewall.models.shadow import ShadowPolicy
from gatewall.whatif.document_field import DocumentField
from gatewall.whatif.document_scopes import areas_of_document
from gatewall.whatif.plans.apply_serializers import (
    MAX_REVISION,
    ApplyOutput,
    ConditionsInput,
    applied_response,
    conditions_of,
)
from gatewall.whatif.shadow import documents, services
from gatewall.whatif.shadow.status import State, status_of
from policies.document.reading import read


class ShadowInput(StrictInput):
    """A shadow policy: a policy document, and the percentage of requests that it is tried with."""

    document = DocumentField()
    percent = WholeNumberField(min_value=1, max_value=100)


class ShadowOutput(serializers.Serializer[Any]):
    """The shadow policy, whether workers evaluate it, and its figures since it was set.

    ``sampled_percent`` and ``cpu_percent`` are of the last ten seconds, null without requests; ``is_throttled`` is true
    if ``cpu_percent_limit`` makes workers evaluate fewer requests than ``percent``. ``skipped`` requests exceeded the
    limit, ``behind`` were decided while the policy was being replaced.
    """

    document = serializers.CharField()
    percent = serializers.IntegerField()
    policy_revision = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField()
    compiled_at = serializers.DateTimeField(allow_null=True)
    state = serializers.ChoiceField(choices=[state.value for state in State])
    problem = serializers.CharField()
    answers = serializers.IntegerField()
    selected = serializers.IntegerField()
    evaluated = serializers.IntegerField()
    differing = serializers.IntegerField()
    skipped = serializers.IntegerField()
    behind = serializers.IntegerField()
    faults = serializers.IntegerField()
    sampled_percent = serializers.FloatField(allow_null=True)
    is_throttled = serializers.BooleanField()
    cpu_percent = serializers.FloatField(allow_null=True)
    cpu_percent_limit = serializers.IntegerField()


class PromoteInput(ConditionsInput):
    """``if_revision``: the revision that the caller knows; by default that at which the shadow policy was set."""

    if_revision = WholeNumberField(min_value=0, max_value=MAX_REVISION, required=False, allow_null=True)


class Shadow(ApiView):
    """The shadow policy."""

    area = POLICY
    large_bodies = frozenset({"PUT"})

    @operation(answer=ShadowOutput, refuses={404})
    def get(self, request: Request) -> Response:
        """Show the shadow policy, its state and its figures."""
        shadow = services.current()
        if shadow is None:
            raise Http404
        return Response(_shown(shadow))

    @operation(body=ShadowInput, answer=ShadowOutput, refuses={409})
    def put(self, request: Request) -> Response:
        """Set the shadow policy; its figures restart at zero. No answer changes."""
        shadow = documents.set_document(actor=str(request.user), **self.body(ShadowInput))
        return Response(_shown(shadow))

    @operation(refuses={404})
    def delete(self, request: Request) -> Response:
        """Remove the shadow policy."""
        if not services.remove():
            raise Http404
        return Response(status=204)


class PromoteShadow(ApiView):
    """Put the shadow policy in force."""

    area = POLICY

    @operation(body=PromoteInput, answer=ApplyOutput, refuses={409, 412})
    def post(self, request: Request) -> Response:
        """Apply the document of the shadow policy like any other, and remove the shadow policy."""
        values, shadow = self.body(PromoteInput), services.current()
        if shadow is not None:
            require_scopes_for(request, areas_of_document(read(shadow.document.encode())))
        promote = partial(
            documents.promote, shadow, if_revision=values.get("if_revision"), conditions=conditions_of(values)
        )
        return applied_response(request, promote)


def _shown(shadow: ShadowPolicy) -> dict[str, Any]:
    status = status_of(shadow)
    counts = {name: int(status.totals[name]) for name in services.COUNTS}
    own = {name: getattr(shadow, name) for name in ("document", "percent", "created_at", "created_by", "compiled_at")}
    state = {
        "policy_revision": shadow.revision,
        "state": status.state.value,
        "problem": status.problem,
        "sampled_percent": status.sampled_percent,
        "is_throttled": status.is_throttled,
        "cpu_percent": status.cpu_percent,
        "cpu_percent_limit": status.cpu_percent_limit,
    }
    return dict(ShadowOutput({**own, **counts, **state}).data)
