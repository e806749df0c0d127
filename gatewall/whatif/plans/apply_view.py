"""API view that applies a plan or a policy document."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gatewall.api.caller import caller_of
from gatewall.api.etags import Stale
from gatewall.api.operations import operation
from gatewall.api.resources import with_publication
from gatewall.api.scopes import POLICY, SYSTEM, USERS, Area, require_scopes_for
from gatewall.api.serializers import FlagField, ShapedField, StrictInput, WholeNumberField
from gatewall.api.views import ApiView
from gatewall.kernel.changes import Resource
from gatewall.whatif.backtest.drafts import Draft
from gatewall.whatif.backtest.proposals import Changes, Proposal, WholeDocument
from gatewall.whatif.document_field import DocumentField
from gatewall.whatif.document_scopes import areas_of_document
from gatewall.whatif.plans import applying
from gatewall.whatif.plans.applying import Applied, Conditions
from gatewall.whatif.plans.serializers import CHANGES, COUNTS, EXPECTATIONS
from policies.document.reading import read

_DIGEST = r"^[0-9a-f]{64}$"
_MAX_REVISION = 2**62
_AREAS: Mapping[str, Area] = {Resource.USERS: USERS, Resource.LICENSES: USERS, Resource.SETTINGS: SYSTEM}
"""The areas of the rows that are not policy alone."""
_LEAST_SECONDS, _MOST_SECONDS = 5, 3600


class UndoIfRefused(StrictInput):
    """Revert the change if it refuses more than so many people within so many minutes."""

    people = WholeNumberField(min_value=0, max_value=1_000_000)
    minutes = WholeNumberField(min_value=1, max_value=1440)


class ApplyInput(StrictInput):
    """What to apply: the digest of a plan, or a document and the revision that it was made for."""

    digest = serializers.RegexField(_DIGEST, required=False)
    document = DocumentField(required=False)
    if_revision = WholeNumberField(min_value=0, max_value=_MAX_REVISION, required=False)
    confirm_within_seconds = WholeNumberField(min_value=0, max_value=_MOST_SECONDS, required=False)
    undo_if_refused = UndoIfRefused(required=False, allow_null=True)
    force = FlagField(required=False)

    def validate_confirm_within_seconds(self, value: int) -> int:
        if 0 < value < _LEAST_SECONDS:
            raise serializers.ValidationError(_("0, or at least %(number)s seconds") % {"number": _LEAST_SECONDS})
        return value

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("digest" in attrs) == ("document" in attrs):
            raise serializers.ValidationError({"digest": _("exactly one of digest and document is needed")})
        if ("document" in attrs) != ("if_revision" in attrs):
            raise serializers.ValidationError({"if_revision": _("needed with a document, and only then")})
        return attrs


class ApplyOutput(serializers.Serializer[Any]):
    """The revision of the change, null if there was nothing to change, and what it did.

    ``confirm_by``: the change is reverted then, unless it is confirmed.
    """

    revision = serializers.IntegerField(allow_null=True)
    changes = ShapedField(CHANGES, allow_null=True)
    counts = ShapedField(COUNTS)
    expectations = ShapedField(EXPECTATIONS)
    confirm_by = serializers.DateTimeField(required=False)
    policy_pending = serializers.BooleanField(required=False)


class ApplyPlan(ApiView):
    """Put a plan or a document in force."""

    area = POLICY

    @operation(body=ApplyInput, answer=ApplyOutput, refuses={404, 409, 412})
    def post(self, request: Request) -> Response:
        """Apply a plan or a document as one revision, if the policy has not moved on and its expectations hold."""
        values = self.body(ApplyInput)
        try:
            applied = _apply(request, values)
        except applying.PolicyMovedOn:
            raise Stale(_("the policy was changed since: make a new plan")) from None
        revision = applied.revision
        shown = {
            "revision": revision.number if revision else None,
            "changes": revision.changes if revision else [],
            "counts": (revision.counts or []) if revision else [],
            "expectations": [each.as_json() for each in applied.expectations],
        }
        return Response(with_publication(shown))


def _areas(proposal: Proposal) -> Iterator[tuple[Area, int | None]]:
    """Yield the area of each change of a row, with the id of a user, and those of a document."""
    if isinstance(proposal, WholeDocument):
        yield from areas_of_document(read(proposal.text.encode()))
    drafts = (proposal,) if isinstance(proposal, Draft) else proposal.drafts if isinstance(proposal, Changes) else ()
    for draft in drafts:
        yield _AREAS.get(draft.resource, POLICY), draft.id if draft.resource == Resource.USERS else None


def _apply(request: Request, values: dict[str, Any]) -> Applied:
    undo = values.get("undo_if_refused") or {}
    conditions = Conditions(
        confirm_within_seconds=values.get("confirm_within_seconds", 0),
        undo_over_people=undo.get("people"),
        undo_minutes=undo.get("minutes", 0),
        force=values.get("force", False),
    )
    actor, caller = str(request.user), caller_of(request)
    if "digest" in values:
        require_scopes_for(request, _areas(applying.proposal_of(values["digest"])))
        return applying.apply_plan(values["digest"], actor=actor, caller=caller, conditions=conditions)
    document = read(values["document"].encode())
    require_scopes_for(request, areas_of_document(document))
    proposal = WholeDocument.of(document)
    return applying.apply_proposal(proposal, values["if_revision"], actor=actor, caller=caller, conditions=conditions)
