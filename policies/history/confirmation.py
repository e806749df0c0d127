"""Confirm or revert changes that lock out their own author (like a commit-confirm on a router)."""

from datetime import datetime, timedelta

from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.utils import timezone

from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.refusals import Conflict, Gone, Refusal
from gatewall.models import PendingConfirmation, PolicyRevision
from gatewall.policy import revisions
from policies.history.rollback import take_back

_AGAIN_AFTER = timedelta(minutes=1)
_AT_ONCE = 100


class NothingToConfirm(Conflict):
    """The revision waits for nobody's word: it never did, or was kept or taken back already."""

    code = "nothing-to-confirm"


def pending() -> QuerySet[PendingConfirmation]:
    """Return the changes that wait for a word, the one that goes first in front."""
    return PendingConfirmation.objects.filter(outcome="").order_by("deadline", "revision")


@revisions.one_at_a_time
def confirm(number: int, *, actor: str) -> PendingConfirmation:
    """Let the change of this revision stay. Raises Gone, NothingToConfirm."""
    return _settle(_waiting(number), PendingConfirmation.KEPT, actor)


@revisions.one_at_a_time
def revert(number: int, *, actor: str) -> PendingConfirmation:
    """Take the change of this revision back now; what was done since stays.

    Raises Gone, NothingToConfirm, CannotRestore.
    """
    row = _waiting(number)
    take_back(row.previous, row.revision, actor=actor)
    return _settle(row, PendingConfirmation.REVERTED, actor)


def revert_overdue(at: datetime) -> int:
    """Take back what nobody confirmed in time, the newest first; return how many.

    What cannot be taken back says so on its row, and is tried again a minute later.
    """
    is_time = Q(tried_at__isnull=True) | Q(tried_at__lte=at - _AGAIN_AFTER) | Q(tried_at__gt=at)
    due = pending().filter(is_time, deadline__lte=at).order_by("-revision").values_list("revision", flat=True)
    done = 0
    for number in list(due[:_AT_ONCE]):
        try:
            revert(number, actor=f"system: {number} was not confirmed")
            done += 1
        except (NothingToConfirm, Gone):
            pass  # another agent was faster
        except (Refusal, ValidationError) as refusal:  # of whatever kind: the agent has more to do
            words = " ".join(refusal.messages) if isinstance(refusal, ValidationError) else str(refusal)
            PendingConfirmation.objects.filter(pk=number).update(tried_at=at, problem=words[:500])
    return done


def _waiting(number: int) -> PendingConfirmation:
    if not PolicyRevision.objects.filter(pk=number).exists():
        raise Gone(_("there is no such revision"))
    row = pending().filter(pk=number).first()
    if row is None:
        raise NothingToConfirm(_("revision %(number)s waits for nobody's word"), number=number)
    return row


def _settle(row: PendingConfirmation, outcome: str, actor: str) -> PendingConfirmation:
    row.outcome, row.settled_at, row.settled_by, row.problem = outcome, timezone.now(), actor, ""
    row.save(update_fields=["outcome", "settled_at", "settled_by", "problem"])
    return row
