"""Run one claimed backtest and store its result."""

import time
import uuid
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import Error
from rest_framework import exceptions

from gatewall.api.problems import words_of
from gatewall.api.translation import message_of
from gatewall.engine.messages import Message
from gatewall.engine.messages import gettext_noop as _
from gatewall.engine.waf.patterns import PatternRefused
from gatewall.gate.countries import Countries
from gatewall.kernel.refusals import Refusal
from gatewall.replay.comparison import Comparison
from gatewall.replay.tally import Tally
from gatewall.snapshot.assembly import SegmentRefused
from gatewall.snapshot.host_paths import policy_files
from gatewall.whatif.backtest import runs, trial, window
from gatewall.whatif.backtest.models import Backtest
from gatewall.whatif.hypothetical import PolicyMoves

MAX_ROWS = 5_000_000
"""Maximum number of requests; of a larger window, the newest are used."""
_BEAT_SECONDS = 1.0
_REFUSED = (Refusal, ValidationError, exceptions.ValidationError)


class ClaimLost(Exception):
    """The backtest was deleted, or claimed by another process."""


def run(backtest: Backtest) -> bool:
    """Run a backtest claimed by this process and store its result; return False if it has none.

    If the draft no longer applies or the policy cannot be read, the backtest is marked as failed.
    """
    claim = backtest.claim
    if claim is None:
        return False
    try:
        result = _result_of(backtest, claim)
    except ClaimLost:
        return False
    except _REFUSED as error:
        runs.fail(claim, Message(_("the change would be refused by now: %(why)s"), why=_message_of(error)))
        return False
    except (PolicyMoves, SegmentRefused, PatternRefused, Error, OSError) as error:
        why = getattr(error, "message", Message(str(error)))
        runs.fail(claim, Message("%(error)s: %(why)s", error=type(error).__name__, why=why))
        return False
    return runs.finish(claim, result, done=result["read"])


def _result_of(backtest: Backtest, claim: uuid.UUID) -> dict[str, Any]:
    began = time.monotonic()
    policies = trial.policies_of(runs.proposal_of(backtest), policy_files(settings.CONFIG))
    _beat(claim)
    span = backtest.start_time, backtest.end_time
    total = window.number_of(*span, MAX_ROWS)
    _beat(claim, total=total)
    comparison = Comparison(
        policies.before,
        policies.after,
        histories=policies.histories,
        countries=Countries.of(settings.CONFIG),
        at=time.time(),
    )
    tally, oldest = _compare(comparison, span, claim)
    seconds = time.monotonic() - began
    return {
        **tally.result(),
        "policy_revision": policies.before.version.revision,
        "complete_from": oldest if total >= MAX_ROWS else None,
        "seconds": round(seconds, 1),
    }


def _compare(comparison: Comparison, span: tuple[datetime, datetime], claim: uuid.UUID) -> tuple[Tally, str | None]:
    tally, last_beat = Tally(), time.monotonic()
    oldest: str | None = None
    for piece in window.pieces(*span, MAX_ROWS):
        for record in piece:
            tally.add(record, comparison.of(record))
        oldest = datetime.fromtimestamp(piece[-1].at, UTC).isoformat()
        if time.monotonic() - last_beat >= _BEAT_SECONDS:
            _beat(claim, done=tally.read)
            last_beat = time.monotonic()
    return tally, oldest


def _beat(claim: uuid.UUID, **progress: int) -> None:
    if not runs.beat(claim, **progress):
        raise ClaimLost


def _message_of(error: Refusal | ValidationError | exceptions.ValidationError) -> Message:
    return Message(words_of(error)) if isinstance(error, exceptions.ValidationError) else message_of(error)
