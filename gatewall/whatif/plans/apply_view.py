"""API view that applies a plan or a policy document."""

from collections.abc import Iterator, Mapping
from functools import partial

from rest_framework.request import Request
from rest_framework.response import Response

from gatewall.api.operations import operation
from gatewall.api.scopes import POLICY, SYSTEM, USERS, Area, require_scopes_for
from gatewall.api.views import ApiView
from gatewall.kernel.changes import Resource
from gatewall.whatif.backtest.drafts import Draft
from gatewall.whatif.backtest.proposals import Changes, Proposal, WholeDocument
from gatewall.whatif.document_scopes import areas_of_document
from gatewall.whatif.plans import applying
from gatewall.whatif.plans.apply_serializers import ApplyInput, ApplyOutput, applied_response, conditions_of
from policies.document.reading import read

_AREAS: Mapping[str, Area] = {
    Resource.USERS: USERS,
    Resource.DEVICE_PASSES: USERS,
    Resource.LICENSES: USERS,
    Resource.SETTINGS: SYSTEM,
}
"""The areas of the resources that do not belong to the area of policy."""


class ApplyPlan(ApiView):
    """Put a plan or a document in force."""

    area = POLICY
    large_bodies = frozenset({"POST"})

    @operation(body=ApplyInput, answer=ApplyOutput, refuses={404, 409, 412})
    def post(self, request: Request) -> Response:
        """Apply a plan or a document as one revision, if it is not stale and the expectations pass."""
        values = self.body(ApplyInput)
        if "digest" in values:
            require_scopes_for(request, _areas(applying.proposal_of(values["digest"])))
            apply = partial(applying.apply_plan, values["digest"])
        else:
            document = read(values["document"].encode())
            require_scopes_for(request, areas_of_document(document))
            apply = partial(applying.apply_proposal, WholeDocument.of(document), values["if_revision"])
        return applied_response(request, partial(apply, conditions=conditions_of(values)))


def _areas(proposal: Proposal) -> Iterator[tuple[Area, int | None]]:
    """Yield the area of each change of a row, with the id of a user, and those of a document."""
    if isinstance(proposal, WholeDocument):
        yield from areas_of_document(read(proposal.text.encode()))
    drafts = (proposal,) if isinstance(proposal, Draft) else proposal.drafts if isinstance(proposal, Changes) else ()
    for draft in drafts:
        yield _AREAS.get(draft.resource, POLICY), draft.id if draft.resource == Resource.USERS else None
