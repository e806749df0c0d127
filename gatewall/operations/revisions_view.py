"""The history of the policy over HTTP: who changed what when, and the way back."""

from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from gatewall import changes
from gatewall.api.resources import Resource
from gatewall.api.serializers import FlagField, StrictInput
from gatewall.models import PolicyRevision
from policies.restore import restore

_FILTERS = frozenset({"actor", "resource"})


class RestoreInput(StrictInput):
    """What may be sent along with a restore."""

    force = FlagField(required=False)


class RevisionOutput(serializers.ModelSerializer[PolicyRevision]):
    """A revision in a list."""

    class Meta:
        model = PolicyRevision
        fields = ("number", "committed_at", "actor", "counts")


class RevisionWithChangesOutput(RevisionOutput):
    """A revision with all that it changed; null if that was too much, or was not recorded."""

    class Meta(RevisionOutput.Meta):
        fields = (*RevisionOutput.Meta.fields, "changes")


class PolicyRevisions(Resource):
    """The revisions of the policy, the newest first."""

    input, output = RestoreInput, RevisionOutput
    ordering_fields = ("number",)
    parameters = _FILTERS

    def get_queryset(self) -> QuerySet[PolicyRevision]:
        return PolicyRevision.objects.order_by("-number")

    def list(self, request: Request, **path: Any) -> Response:
        rows = self._filtered(self._searched(self._ordered(self.get_queryset().defer("changes"))))
        return self.get_paginated_response(self.show(self.paginate_queryset(rows), many=True))

    def retrieve(self, request: Request, **path: Any) -> Response:
        return Response(RevisionWithChangesOutput(self.get_object()).data)

    def restore(self, request: Request, **path: Any) -> Response:
        number = self.get_object().pk
        form = self.input(data=request.data)
        form.is_valid(raise_exception=True)
        row = restore(number, actor=self.actor, caller=self.caller, **form.validated_data)
        return Response(self._with_pending(dict(RevisionWithChangesOutput(row).data)))

    def _filtered(self, rows: QuerySet[PolicyRevision]) -> QuerySet[PolicyRevision]:
        parameters = self.request.query_params
        if "actor" in parameters:
            rows = rows.filter(actor=parameters["actor"].replace("\0", ""))
        if "resource" in parameters:
            if parameters["resource"] not in set(changes.Resource):
                raise ValidationError({"resource": [f"one of {', '.join(changes.Resource)}"]})
            rows = rows.filter(resources__contains=f" {parameters['resource']} ")
        return rows
