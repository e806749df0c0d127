"""Run backtests, each in its own process."""

import logging
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from django.db import Error
from django.utils import timezone

from gatewall.agent.loop import Loop
from gatewall.whatif.backtest import runs
from gatewall.whatif.backtest.models import Backtest

logger = logging.getLogger(__name__)

_ROOT = Path(__file__).resolve().parents[2]
_LONGEST_SECONDS = 3 * 3600.0
_END_SECONDS = 5.0
_TERMINATED = frozenset({-signal.SIGTERM, -signal.SIGINT})


class BacktestRunner(Loop):
    """Runs the longest-waiting backtest in a subprocess. If the agent ends first, the backtest is queued again."""

    name = "backtests"
    every_seconds = 1.0
    join_seconds = 2 * _END_SECONDS
    failing = "backtests are not run"
    recovered = "running backtests again"

    def _work(self) -> None:
        run = runs.claim_next(timezone.now())
        if run is not None:
            self._supervise(run)

    def _is_idle(self) -> bool:
        return not runs.are_waiting()

    def _supervise(self, run: Backtest) -> None:
        claim = run.claim
        if claim is None:
            return
        command = [sys.executable, "manage.py", "backtest", str(run.pk), "--claim", str(claim)]
        # No timeout on the subprocess except for CPU time: it stops itself when its backtest is canceled.
        process = subprocess.Popen(command, cwd=_ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)  # noqa: S603 - ours
        try:
            waited = 0.0
            while process.poll() is None and not self._stop.is_set() and waited < _LONGEST_SECONDS:
                with suppress(Error):  # until it beats itself: on a busy machine it starts slowly
                    runs.beat(claim)
                self._stop.wait(self.every_seconds)
                waited += self.every_seconds
        finally:
            _end(process)
            if process.returncode in _TERMINATED:
                self._stop.wait(_END_SECONDS)  # a stopping service signals all its processes, and ours may come later
            # A result that the subprocess has stored is not overwritten.
            if self._stop.is_set():
                runs.requeue(claim)
            elif runs.fail(claim, why := runs.died(process.returncode)):
                logger.warning("backtest %s: %s", run.pk, why)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Terminate the process, then kill it."""
    if process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_END_SECONDS)
    if process.poll() is None:
        process.kill()
    process.wait()
