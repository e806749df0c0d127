"""Backtests from the moment that one is asked for to its end: queued, claimed by one process, finished or failed.

Nothing here decides anything: ``running`` does, in a process of its own.
"""

import uuid
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, models, transaction
from django.utils import timezone

from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.clientip import Caller
from gatewall.kernel.refusals import Conflict
from gatewall.policy.resources import Write
from gatewall.whatif.backtest import trial
from gatewall.whatif.backtest.drafts import Draft
from gatewall.whatif.backtest.models import Backtest, State

KEPT = 20
"""So many backtests are kept; the oldest finished ones go."""
SILENT = timedelta(seconds=60)
"""A process that has said nothing for so long is held to be dead; it says something every second."""
DIED = _("its process died before it was done")


class TooManyBacktests(Conflict):
    """As many backtests as are kept wait to be run."""

    code = "too-many-backtests"


class NotFinished(Conflict):
    """The backtest has no result yet, or never will."""

    code = "backtest-not-finished"


def draft_of(run: Backtest) -> Draft:
    """Return the draft of a backtest."""
    kept = run.draft
    return Draft(run.resource, Write(kept["change"]), kept["id"], kept["values"], kept["force"])


def ask_for(draft: Draft, *, start: datetime, end: datetime, actor: str, caller: Caller | None) -> Backtest:
    """Queue a backtest of a draft that could be saved as things stand.

    Raises what the change itself would raise, TooManyBacktests.
    """
    trial.try_out(draft, actor=actor, caller=caller)
    with transaction.atomic():
        _make_room()
        return Backtest.objects.create(
            created_by=actor, resource=draft.resource, draft=draft.as_json(), start_time=start, end_time=end
        )


def _make_room() -> None:
    over = Backtest.objects.count() - KEPT + 1
    if over <= 0:
        return
    done = Backtest.objects.filter(state__in=(State.FINISHED, State.FAILED)).order_by("id")
    oldest = list(done.values_list("pk", flat=True)[:over])
    if len(oldest) < over:
        raise TooManyBacktests(
            _("%(number)s backtests wait already: delete one, or have an agent run them"), number=KEPT
        )
    Backtest.objects.filter(pk__in=oldest).delete()


def backtests() -> models.QuerySet[Backtest]:
    """Return the backtests, the newest first."""
    return Backtest.objects.order_by("-id")


def forget(run: Backtest) -> None:
    """Delete a backtest. One that is running ends within a second or so."""
    Backtest.objects.filter(pk=run.pk).delete()


def claim_next(at: datetime) -> Backtest | None:
    """Claim the oldest backtest that waits, None if there is none or one is running."""
    give_up_silent(at)
    waiting = Backtest.objects.filter(state=State.QUEUED).order_by("id").first()
    return claimed(waiting, at) if waiting is not None else None


def claimed(run: Backtest, at: datetime) -> Backtest | None:
    """Claim a backtest that waits; None if somebody else has it, or runs another."""
    claim = uuid.uuid4()
    queued = Backtest.objects.filter(pk=run.pk, state=State.QUEUED)
    try:
        with transaction.atomic():
            taken = queued.update(state=State.RUNNING, claim=claim, beat_at=at, started_at=at, done=0, total=None)
    except IntegrityError:
        return None
    return Backtest.objects.filter(pk=run.pk, claim=claim).first() if taken else None


def give_up_silent(at: datetime) -> int:
    """Mark what is running without a sign of life as failed; return how many were."""
    running = Backtest.objects.filter(state=State.RUNNING)
    silent = [run.claim for run in running if run.beat_at is None or abs(at - run.beat_at) > SILENT]
    return sum(fail(claim, DIED) for claim in silent if claim is not None)


def beat(claim: uuid.UUID, **progress: Any) -> bool:
    """Say that the process is alive and how far it is; False if its work is not wanted any more."""
    return bool(_mine(claim).update(beat_at=timezone.now(), **progress))


def finish(claim: uuid.UUID, result: dict[str, Any], *, done: int) -> bool:
    """Keep the result."""
    ended = {"finished_at": timezone.now(), "state": State.FINISHED, "claim": None}
    return bool(_mine(claim).update(result=result, done=done, total=done, **ended))


def fail(claim: uuid.UUID, words: str) -> bool:
    """Mark the backtest as failed."""
    ended = {"finished_at": timezone.now(), "state": State.FAILED, "claim": None}
    return bool(_mine(claim).update(failure=words[:500], **ended))


def put_back(claim: uuid.UUID) -> bool:
    """Have the backtest wait again: whoever ran it is being stopped."""
    return bool(_mine(claim).update(state=State.QUEUED, claim=None, beat_at=None, started_at=None, done=0, total=None))


def _mine(claim: uuid.UUID) -> models.QuerySet[Backtest]:
    return Backtest.objects.filter(claim=claim, state=State.RUNNING)
