"""API views of policy revisions, restore and confirmation."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from audit.events.revision_events import without_secrets
from gatewall.api import etags
from gatewall.api.filters import Filters, text
from gatewall.api.operations import operation
from gatewall.api.resources import Resource, with_publication
from gatewall.api.scopes import POLICY
from gatewall.api.serializers import FlagField, StrictInput
from gatewall.kernel import changes
from gatewall.models import PendingConfirmation, PolicyRevision
from policies.history.confirmation import confirm
from policies.history.restore import restore


def _as_listed(value: str) -> str:
    if value not in set(changes.Resource):
        raise ValidationError(f"one of {', '.join(changes.Resource)}", "invalid-choice")
    return f" {value} "


class RestoreInput(StrictInput):
    """Input of a restore."""

    force = FlagField(required=False)


class RevisionOutput(serializers.ModelSerializer[PolicyRevision]):
    """A policy revision."""

    class Meta:
        model = PolicyRevision
        fields: tuple[str, ...] = ("number", "committed_at", "actor", "counts")


class RevisionWithChangesOutput(RevisionOutput):
    """A policy revision with its changes; null if they were too large or not recorded."""

    class Meta(RevisionOutput.Meta):
        fields = (*RevisionOutput.Meta.fields, "changes")


class RevisionRestored(RevisionWithChangesOutput):
    """The revision of a restore, and whether it is in force on this host."""

    policy_pending = serializers.BooleanField(required=False)
    confirm_by = serializers.DateTimeField(required=False)

    class Meta(RevisionWithChangesOutput.Meta):
        fields = (*RevisionWithChangesOutput.Meta.fields, "policy_pending", "confirm_by")


class RevisionConfirmInput(StrictInput):
    """Empty input; the path identifies the revision."""


class RevisionConfirmed(serializers.ModelSerializer[PendingConfirmation]):
    """A confirmed forced change."""

    number = serializers.IntegerField(source="revision")
    confirmed_at = serializers.DateTimeField(source="settled_at")
    confirmed_by = serializers.CharField(source="settled_by")

    class Meta:
        model = PendingConfirmation
        fields = ("number", "actor", "confirmed_at", "confirmed_by")


class RevisionFilters(Filters):
    """Filters of policy revisions."""

    actor = text("actor", max_length=64)
    resource = text("resources", max_length=32, lookup="contains", parse=_as_listed)


class PolicyRevisions(Resource):
    """Policy revisions, newest first."""

    nouns = ("a policy revision", "policy revisions")
    area = POLICY
    input, output = RestoreInput, RevisionOutput
    filterset_class = RevisionFilters
    ordering_fields = ("number",)
    http_method_names = ["get", "head", "options", "post"]

    def get_queryset(self) -> QuerySet[PolicyRevision]:
        rows = PolicyRevision.objects.order_by("-number")
        return rows.defer("changes") if self.action == "list" else rows

    @operation(answer=RevisionWithChangesOutput, is_tagged=True)
    def retrieve(self, request: Request, **path: Any) -> Response:
        """Show a revision with its changes; auditors see no secret paths of webhooks."""
        shown = dict(RevisionWithChangesOutput(self.get_object()).data)
        if shown["changes"] and not getattr(request.user, "is_staff", False):
            shown["changes"] = [without_secrets(change) for change in shown["changes"]]
        return etags.conditional_response(request, shown, etags.tag_of(shown))

    @operation(body=RestoreInput, answer=RevisionRestored, refuses={404, 409})
    def restore(self, request: Request, **path: Any) -> Response:
        """Restore the policy to its state right after a revision."""
        body = self.body(RestoreInput)
        row = restore(self.get_object().pk, actor=self.actor, caller=self.caller, **body)
        return Response(with_publication(dict(RevisionWithChangesOutput(row).data)))

    @operation(body=RevisionConfirmInput, answer=RevisionConfirmed, refuses={404, 409})
    def confirm(self, request: Request, **path: Any) -> Response:
        """Confirm a forced change that locks out the address it was made from."""
        self.body(RevisionConfirmInput)
        return Response(RevisionConfirmed(confirm(self.get_object().pk, actor=self.actor)).data)
