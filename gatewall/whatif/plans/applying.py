"""Apply a plan or a document as one revision, if it is not stale and the policy's expectations pass."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.clientip import Caller
from gatewall.kernel.refusals import Gone
from gatewall.models import PolicyRevision
from gatewall.policy import revisions
from gatewall.whatif import refusal_watch
from gatewall.whatif.backtest import proposals, runs
from gatewall.whatif.backtest.models import Backtest
from gatewall.whatif.backtest.proposals import Proposal
from gatewall.whatif.backtest.staleness import may_have_changed
from gatewall.whatif.expectations import Outcome, require_expectations, segments_now
from gatewall.whatif.plans.planning import digest_of
from policies.history.confirmation import ask_for_confirmation

MAX_CONFIRM_SECONDS = 3600
MAX_WATCH_MINUTES = 1440
MAX_WATCHED_PEOPLE = 1_000_000
_APPLIED = "applied"


class PolicyMovedOn(Exception):
    """The proposal is stale: its rows were changed after its revision, or the plan was applied already."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions under which a change stays in force.

    ``confirm_within_seconds``: the change is reverted unless confirmed in time; 0: it needs no confirmation.
    ``undo_over_people``: it is reverted if it refuses more people than this within ``undo_minutes``; None: it is not
    watched. ``force``: the caller may be locked out.
    """

    confirm_within_seconds: int = 0
    undo_over_people: int | None = None
    undo_minutes: int = 0
    force: bool = False


@dataclass(frozen=True, slots=True)
class Applied:
    """The revision of an applied change, None if it changed nothing, and the outcomes of the expectations."""

    revision: PolicyRevision | None
    expectations: list[Outcome]


def proposal_of(digest: str) -> Proposal:
    """Return the proposal of the newest plan with this digest. Raises Gone."""
    return runs.proposal_of(_row_of(digest))


def application_of(row: Backtest) -> Mapping[str, Any] | None:
    """Return how a plan with this digest was applied (``id``: the revision, None if nothing changed), None if not."""
    applied = Backtest.objects.filter(digest=row.digest, saved__isnull=False)
    return applied.values_list("saved", flat=True).first()


def is_stale(row: Backtest) -> bool:
    """Return whether rows that a plan changes were changed since, or the policy has another history."""
    proposal, base = runs.proposal_of(row), row.base_revision or 0
    return digest_of(revisions.current().epoch, base, proposal) != row.digest or may_have_changed(proposal, base)


def _row_of(digest: str) -> Backtest:
    row = Backtest.objects.filter(digest=digest).order_by("-id").first()
    if row is None or row.base_revision is None:
        raise Gone(_("there is no such plan; only the last ones are kept"))
    return row


@revisions.one_at_a_time
def apply_plan(digest: str, *, actor: str, caller: Caller | None, conditions: Conditions) -> Applied:
    """Apply the proposal of the newest plan with this digest.

    Raises Gone, PolicyMovedOn, ExpectationFailed, WouldLockYouOut, TooLargeToRevert, and the errors of the change.
    """
    row = _row_of(digest)
    proposal = runs.proposal_of(row)
    if application_of(row) is not None or is_stale(row):
        raise PolicyMovedOn
    applied = apply_proposal(proposal, row.base_revision or 0, actor=actor, caller=caller, conditions=conditions)
    row.saved = {"how": _APPLIED, "id": applied.revision.number if applied.revision else None}
    row.save(update_fields=["saved"])
    return applied


@revisions.one_at_a_time
def apply_proposal(
    proposal: Proposal, base: int, *, actor: str, caller: Caller | None, conditions: Conditions
) -> Applied:
    """Apply a proposal for the policy of revision ``base``, in one revision.

    Raises PolicyMovedOn, ExpectationFailed, WouldLockYouOut, TooLargeToRevert, and the errors of the change; then
    nothing is changed.
    """
    if may_have_changed(proposal, base):
        raise PolicyMovedOn
    before, segments = revisions.current().revision, segments_now()
    with revisions.as_one_revision(actor) as made:
        proposals.apply(replace(proposal, force=conditions.force), actor=actor, caller=caller)
        if conditions.confirm_within_seconds:
            ask_for_confirmation(before, caller, seconds=conditions.confirm_within_seconds)
        if conditions.undo_over_people is not None:
            refusal_watch.start(before, people=conditions.undo_over_people, minutes=conditions.undo_minutes)
    return Applied(made.revision, require_expectations(segments))
