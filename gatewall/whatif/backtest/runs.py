"""Life cycle of backtests: queued, claimed by one process, finished or failed. ``running`` does the work."""

import uuid
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, models, transaction
from django.utils import timezone

from gatewall.engine.messages import MAX_STORED, Message
from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.clientip import Caller
from gatewall.kernel.refusals import Conflict
from gatewall.whatif.backtest import proposals, trial
from gatewall.whatif.backtest.drafts import Draft
from gatewall.whatif.backtest.models import Backtest, State
from gatewall.whatif.backtest.proposals import Proposal

KEPT = 20
"""Maximum number of stored backtests; the oldest finished ones are deleted."""
DEAD_AFTER = timedelta(seconds=60)
"""A process without a heartbeat for this long is considered dead; it sends one every second."""


class TooManyBacktests(Conflict):
    """The maximum number of backtests is queued."""

    code = "too-many-backtests"


class NotFinished(Conflict):
    """The backtest has no result: it has not finished, or it failed."""

    code = "backtest-not-finished"


def proposal_of(run: Backtest) -> Proposal:
    """Return the proposal of a backtest."""
    return proposals.from_json(run.kind, run.resource, run.draft)


def queue(proposal: Proposal, *, start: datetime, end: datetime, actor: str, caller: Caller | None) -> Backtest:
    """Try a proposal out and queue its backtest. Raises the errors of the change, TooManyBacktests."""
    trial.try_out(proposal, actor=actor, caller=caller)
    return enqueue(proposal, start=start, end=end, actor=actor)


@transaction.atomic
def enqueue(proposal: Proposal, *, start: datetime, end: datetime, actor: str, **planned: Any) -> Backtest:
    """Store a queued backtest of a proposal that was tried; ``planned``: the fields of a plan. Raises TooManyBacktests.

    The oldest finished backtest is deleted if there are too many.
    """
    _delete_oldest()
    return Backtest.objects.create(
        created_by=actor,
        kind=proposals.kind_of(proposal).value,
        resource=proposal.resource if isinstance(proposal, Draft) else "",
        draft=proposals.as_json(proposal),
        start_time=start,
        end_time=end,
        **planned,
    )


def _delete_oldest() -> None:
    over = Backtest.objects.count() - KEPT + 1
    if over <= 0:
        return
    done = Backtest.objects.filter(state__in=(State.FINISHED, State.FAILED)).order_by("id")
    oldest = list(done.values_list("pk", flat=True)[:over])
    if len(oldest) < over:
        raise TooManyBacktests(_("%(number)s backtests are queued: delete one, or start an agent"), number=KEPT)
    Backtest.objects.filter(pk__in=oldest).delete()


def delete(run: Backtest) -> None:
    """Delete a backtest; a running one stops within seconds."""
    Backtest.objects.filter(pk=run.pk).delete()


def are_waiting() -> bool:
    """Return whether a backtest is queued or running."""
    return Backtest.objects.filter(state__in=(State.QUEUED, State.RUNNING)).exists()


def claim_next(at: datetime) -> Backtest | None:
    """Claim the oldest queued backtest; return None if there is none, or one is running."""
    fail_dead(at)
    waiting = Backtest.objects.filter(state=State.QUEUED).order_by("id").first()
    return claim_run(waiting, at) if waiting is not None else None


def claim_run(run: Backtest, at: datetime) -> Backtest | None:
    """Claim a queued backtest; return None if another process has claimed it, or runs another one."""
    claim = uuid.uuid4()
    queued = Backtest.objects.filter(pk=run.pk, state=State.QUEUED)
    try:
        with transaction.atomic():
            updated = queued.update(state=State.RUNNING, claim=claim, beat_at=at, started_at=at, done=0, total=None)
    except IntegrityError:
        return None
    return Backtest.objects.filter(pk=run.pk, claim=claim).first() if updated else None


def fail_dead(at: datetime) -> int:
    """Mark running backtests without heartbeat as failed; return how many."""
    running = Backtest.objects.filter(state=State.RUNNING)
    dead = [run.claim for run in running if run.beat_at is None or abs(at - run.beat_at) > DEAD_AFTER]
    return sum(fail(claim, died()) for claim in dead if claim is not None)


def beat(claim: uuid.UUID, **progress: Any) -> bool:
    """Store heartbeat and progress; return False if the claim is lost."""
    return bool(_claimed_row(claim).update(beat_at=timezone.now(), **progress))


def finish(claim: uuid.UUID, result: dict[str, Any], *, done: int) -> bool:
    """Store the result; return False if the claim is lost."""
    ended = {"finished_at": timezone.now(), "state": State.FINISHED, "claim": None}
    return bool(_claimed_row(claim).update(result=result, done=done, total=done, **ended))


def fail(claim: uuid.UUID, why: Message) -> bool:
    """Mark the backtest as failed; return False if the claim is lost."""
    ended = {"finished_at": timezone.now(), "state": State.FAILED, "claim": None}
    return bool(_claimed_row(claim).update(failure=why[:MAX_STORED], failure_message=why.as_json(), **ended))


def died(exit_code: int | None = None) -> Message:
    """Return the failure message of a backtest whose process ended without a result."""
    if exit_code is None:
        return Message(_("its process ended early"))
    return Message(_("its process ended early (exit code %(code)s)"), code=exit_code)


def requeue(claim: uuid.UUID) -> bool:
    """Return a running backtest to the queue, because its process is being stopped."""
    return bool(
        _claimed_row(claim).update(state=State.QUEUED, claim=None, beat_at=None, started_at=None, done=0, total=None)
    )


def _claimed_row(claim: uuid.UUID) -> models.QuerySet[Backtest]:
    return Backtest.objects.filter(claim=claim, state=State.RUNNING)
