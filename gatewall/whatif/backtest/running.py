"""Run one claimed backtest and store its result."""

import time
import uuid
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import Error
from rest_framework import exceptions

from gatewall.api.problems import words_of
from gatewall.api.translation import message_of
from gatewall.engine.messages import Message
from gatewall.engine.messages import gettext_noop as _
from gatewall.engine.waf.matcher import WAITING, RuleSet
from gatewall.engine.waf.patterns import PatternRefused
from gatewall.gate.countries import Countries
from gatewall.kernel.refusals import Refusal
from gatewall.replay.comparison import Comparison
from gatewall.replay.tally import Tally
from gatewall.snapshot.assembly import SegmentRefused
from gatewall.snapshot.host_paths import policy_files
from gatewall.whatif.backtest import runs, trial, window, workers
from gatewall.whatif.backtest.models import Backtest
from gatewall.whatif.hypothetical import PolicyMoves

MAX_ROWS = 5_000_000
"""Maximum number of requests; of a larger window, the newest are used."""
_BEAT_SECONDS = 1.0
_PATTERNS_SECONDS = 30.0
"""How long worker processes wait for compiled patterns."""
_REFUSED = (Refusal, ValidationError, exceptions.ValidationError)


class ClaimLost(Exception):
    """The backtest was deleted, or claimed by another process."""


def run(backtest: Backtest) -> bool:
    """Run a backtest claimed by this process and store its result; return False if there is no result.

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
        runs.fail(claim, Message(_("the change would be refused now: %(why)s"), why=_message_of(error)))
        return False
    except workers.WorkerFailed as error:
        runs.fail(claim, error.message)
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
    parts = window.slices(backtest.start_time, backtest.end_time, MAX_ROWS)
    progress = _Progress(claim, sum(part.number for part in parts))
    comparison = Comparison(
        policies.before,
        policies.after,
        histories=policies.histories,
        countries=Countries.of(settings.CONFIG),
        at=time.time(),
    )
    processes = workers.number_of_processes(len(parts))
    if processes > 1:
        _wait_for_patterns(policies.before.waf, progress)
    tally = compare(comparison, parts, processes=processes, on_progress=progress.add)
    last = parts[-1].last if parts else None
    seconds = time.monotonic() - began
    return {
        **tally.result(),
        "policy_revision": policies.before.version.revision,
        "complete_from": last.at.isoformat() if last and progress.total >= MAX_ROWS else None,
        "seconds": round(seconds, 1),
    }


def compare(
    comparison: Comparison, parts: Sequence[window.Slice], *, processes: int, on_progress: workers.Report
) -> Tally:
    """Return the figures of the requests of a window, which is cut into slices. Raises WorkerFailed.

    The result does not depend on the number of processes.
    """

    def figures_of(number: int, report: workers.Report) -> dict[str, Any]:
        tally = Tally()
        for piece in window.pieces(parts[number]):
            for record in piece:
                tally.add(record, comparison.of(record))
            report(len(piece))
        return tally.as_json()

    whole = Tally()
    for figures in workers.results_of(len(parts), figures_of, processes=processes, on_progress=on_progress):
        whole.merge(figures)
    return whole


def _wait_for_patterns(rules: RuleSet, progress: "_Progress") -> None:
    """Wait until the patterns are compiled: a fork before would use RE2, which is slower, until it ends."""
    until = time.monotonic() + _PATTERNS_SECONDS
    while rules.check() == WAITING and time.monotonic() < until:
        time.sleep(0.1)
        progress.add(0)


class _Progress:
    """Stores heartbeat and progress about every second. Raises ClaimLost."""

    def __init__(self, claim: uuid.UUID, total: int) -> None:
        self.total = total
        self._claim, self._done, self._last_beat = claim, 0, time.monotonic()
        _beat(claim, total=total)

    def add(self, number: int) -> None:
        """Add to the number of requests done; the total is its limit, even if more rows arrived since."""
        self._done = min(self._done + number, self.total)
        if time.monotonic() - self._last_beat >= _BEAT_SECONDS:
            _beat(self._claim, done=self._done)
            self._last_beat = time.monotonic()


def _beat(claim: uuid.UUID, **progress: int) -> None:
    if not runs.beat(claim, **progress):
        raise ClaimLost


def _message_of(error: Refusal | ValidationError | exceptions.ValidationError) -> Message:
    return Message(words_of(error)) if isinstance(error, exceptions.ValidationError) else message_of(error)
