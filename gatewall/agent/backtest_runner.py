"""Run backtests, each in its own process."""

import logging
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from django.utils import timezone

from gatewall.agent.loop import Loop
from gatewall.whatif.backtest import runs
from gatewall.whatif.backtest.models import Backtest

logger = logging.getLogger(__name__)

_ROOT = Path(__file__).resolve().parents[2]
_LONGEST_SECONDS = 3 * 3600.0
_END_SECONDS = 5.0
_TOLD_TO_END = frozenset({-signal.SIGTERM, -signal.SIGINT})


class BacktestRunner(Loop):
    """Starts the process of the backtest that waits longest, and sees it to its end.

    A backtest that is not done when the agent ends waits again.
    """

    name = "backtests"
    every_seconds = 1.0
    join_seconds = 2 * _END_SECONDS
    failing = "backtests are not run"
    recovered = "running backtests again"

    def _work(self) -> None:
        run = runs.claim_next(timezone.now())
        if run is not None:
            self._see_through(run)

    def _see_through(self, run: Backtest) -> None:
        claim = run.claim
        if claim is None:
            return
        command = [sys.executable, "manage.py", "backtest", str(run.pk), "--claim", str(claim)]
        # No limit of time on the process itself but that of its CPU: it ends by itself when nobody wants its result.
        process = subprocess.Popen(command, cwd=_ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)  # noqa: S603 - ours
        try:
            waited = 0.0
            while process.poll() is None and not self._stop.is_set() and waited < _LONGEST_SECONDS:
                self._stop.wait(self.every_seconds)
                waited += self.every_seconds
        finally:
            _end(process)
            if process.returncode in _TOLD_TO_END:
                self._stop.wait(_END_SECONDS)  # who stops a service tells all of its processes, and we may be the last
            # What the process has said of its end itself stays.
            if self._stop.is_set():
                runs.requeue(claim)
            elif runs.fail(claim, why := runs.died(process.returncode)):
                logger.warning("backtest %s: %s", run.pk, why)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Have the process end, by force if it does not by itself."""
    if process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_END_SECONDS)
    if process.poll() is None:
        process.kill()
    process.wait()
