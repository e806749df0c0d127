"""Commit-confirm: revert unconfirmed changes that lock out their author, or that were applied with a deadline."""

from datetime import datetime, timedelta
from functools import partial

from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.utils import timezone

from gatewall.api.translation import message_of
from gatewall.engine.messages import MAX_STORED
from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.changes import MAX_CHANGES
from gatewall.kernel.clientip import Caller
from gatewall.kernel.refusals import Conflict, Gone, Refusal
from gatewall.models import PendingConfirmation, PolicyRevision
from gatewall.policy import revisions
from policies.history.rollback import take_back

_RETRY_AFTER = timedelta(minutes=1)
_BATCH = 100


class NothingToConfirm(Conflict):
    """The revision has no pending confirmation: it never had one, or it was confirmed or reverted."""

    code = "nothing-to-confirm"


class TooLargeToRevert(Conflict):
    """The change affects more objects than a revision records, so that it could not be reverted."""

    code = "too-large-to-revert"


def await_confirmation(before: int, caller: Caller | None, *, seconds: int) -> None:
    """Schedule a revert of the revisions after ``before`` in ``seconds`` unless confirmed: they lock out the caller.

    Has no effect if their changes are not fully recorded. Inside ``as_one_revision()``, this waits for the end of that
    block, and has no effect if the block creates no revision.
    """
    revisions.once_written(partial(_await_lock_out, before, caller, seconds))


def ask_for_confirmation(before: int, caller: Caller | None, *, seconds: int) -> None:
    """Schedule a revert of the revisions after ``before`` in ``seconds`` unless confirmed: their author asked for it.

    For a service that holds the policy lock. A pending confirmation of a lockout keeps its cause, and the earlier
    deadline applies. Inside ``as_one_revision()``, this waits for the end of that block. Raises TooLargeToRevert.
    """
    revisions.once_written(partial(_await_asked, before, caller, seconds))


def refuse_irrevertible(before: int) -> None:
    """Raise TooLargeToRevert if the revisions after ``before`` are not fully recorded."""
    if not _is_recorded(before):
        raise TooLargeToRevert(
            _("more than %(number)s objects change, too many to be reverted: apply it in parts, or unconditionally"),
            number=f"{MAX_CHANGES:,}",
        )


def _await_lock_out(before: int, caller: Caller | None, seconds: int) -> None:
    if _is_recorded(before):
        _await(before, caller, seconds, PendingConfirmation.LOCK_OUT)


def _await_asked(before: int, caller: Caller | None, seconds: int) -> None:
    refuse_irrevertible(before)
    _await(before, caller, seconds, PendingConfirmation.ASKED)


def _is_recorded(before: int) -> bool:
    return not PolicyRevision.objects.filter(number__gt=before, changes__isnull=True).exists()


def _await(before: int, caller: Caller | None, seconds: int, cause: str) -> None:
    last, now = PolicyRevision.objects.filter(number__gt=before).order_by("number").last(), timezone.now()
    if last is None:
        return
    deadline = now + timedelta(seconds=seconds)
    waiting = pending().filter(pk=last.number).first()
    if waiting is not None:
        deadline = min(deadline, waiting.deadline)
        cause = PendingConfirmation.LOCK_OUT if PendingConfirmation.LOCK_OUT in {cause, waiting.cause} else cause
    PendingConfirmation.objects.update_or_create(
        revision=last.number,
        defaults={
            "previous": before,
            "actor": last.actor,
            "address": str(caller.address) if caller else "",
            "cause": cause,
            "made_at": now,
            "deadline": deadline,
        },
    )
    revisions.expect_confirmation(deadline)


def pending() -> QuerySet[PendingConfirmation]:
    """Return the changes that wait for confirmation, the earliest deadline first."""
    return PendingConfirmation.objects.filter(outcome="").order_by("deadline", "revision")


@revisions.one_at_a_time
def confirm(number: int, *, actor: str) -> PendingConfirmation:
    """Confirm the change of this revision. Raises Gone, NothingToConfirm."""
    return _settle(_pending_row(number), PendingConfirmation.KEPT, actor)


@revisions.one_at_a_time
def revert(number: int, *, actor: str) -> PendingConfirmation:
    """Revert the change of this revision now; later changes are kept. Raises Gone, NothingToConfirm, CannotRestore."""
    row = _pending_row(number)
    take_back(row.previous, row.revision, actor=actor)
    return _settle(row, PendingConfirmation.REVERTED, actor)


def revert_overdue(at: datetime) -> int:
    """Revert changes whose confirmation deadline has passed, the newest first; return how many.

    If a change cannot be reverted, the reason is stored on its row and the revert is retried a minute later.
    """
    is_time = Q(tried_at__isnull=True) | Q(tried_at__lte=at - _RETRY_AFTER) | Q(tried_at__gt=at)
    due = pending().filter(is_time, deadline__lte=at).order_by("-revision").values_list("revision", flat=True)
    done = 0
    for number in list(due[:_BATCH]):
        try:
            revert(number, actor=f"system: {number} was not confirmed")
            done += 1
        except (NothingToConfirm, Gone):
            pass  # another agent settled it first
        except (Refusal, ValidationError) as refusal:  # any refusal: the other changes must still be reverted
            why = message_of(refusal)
            kept = {"problem": why[:MAX_STORED], "problem_message": why.as_json()}
            PendingConfirmation.objects.filter(pk=number).update(tried_at=at, **kept)
    return done


def _pending_row(number: int) -> PendingConfirmation:
    if not PolicyRevision.objects.filter(pk=number).exists():
        raise Gone(_("there is no such revision"))
    row = pending().filter(pk=number).first()
    if row is None:
        raise NothingToConfirm(_("revision %(number)s does not wait for a confirmation"), number=number)
    return row


def _settle(row: PendingConfirmation, outcome: str, actor: str) -> PendingConfirmation:
    row.outcome, row.settled_at, row.settled_by, row.problem = outcome, timezone.now(), actor, ""
    row.problem_message = None
    row.save(update_fields=["outcome", "settled_at", "settled_by", "problem", "problem_message"])
    return row
