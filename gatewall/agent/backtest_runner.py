"""Run backtests, each in its own process."""

import logging
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

from django.db import Error, close_old_connections, connection
from django.utils import timezone

from gatewall.whatif.backtest import runs
from gatewall.whatif.backtest.models import Backtest

logger = logging.getLogger(__name__)

_ROOT = Path(__file__).resolve().parents[2]
_EVERY_SECONDS = 1.0
_LONGEST_SECONDS = 3 * 3600.0
_END_SECONDS = 5.0
_TOLD_TO_END = frozenset({-signal.SIGTERM, -signal.SIGINT})


class BacktestRunner:
    """A thread that starts the process of the backtest that waits longest, and sees it to its end, while it leads."""

    def __init__(self) -> None:
        self._stop = Event()
        self._stop.set()
        self._thread = Thread()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run what waits until the end of the block; what is not done by then waits again."""
        self._stop.clear()
        self._start()
        try:
            yield
        finally:
            self._stop.set()
            self._thread.join(2 * _END_SECONDS)

    def keep_going(self) -> None:
        """Start again if the thread ended by a bug, which Python has written to stderr."""
        if not self._thread.is_alive() and not self._stop.is_set():
            self._start()

    def _start(self) -> None:
        self._thread = Thread(target=self._run, name="backtests", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                self.turn()
                self._stop.wait(_EVERY_SECONDS)
        finally:
            connection.close()

    def turn(self) -> None:
        """Run the backtest that waits longest, if there is one."""
        try:
            run = runs.claim_next(timezone.now())
            if run is not None:
                self._see_through(run)
        except (Error, OSError) as error:
            logger.error("backtests are not run (%s)", type(error).__name__)  # noqa: TRY400 - the words say it all
            with suppress(Error):
                close_old_connections()

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
                self._stop.wait(_EVERY_SECONDS)
                waited += _EVERY_SECONDS
        finally:
            _end(process)
            if process.returncode in _TOLD_TO_END:
                self._stop.wait(_END_SECONDS)  # who stops a service tells all of its processes, and we may be the last
            # What the process has said of its end itself stays.
            if self._stop.is_set():
                runs.put_back(claim)
            elif runs.fail(claim, f"{runs.DIED} (exit code {process.returncode})"):
                logger.warning("backtest %s: %s (exit code %s)", run.pk, runs.DIED, process.returncode)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Have the process end, by force if it does not by itself."""
    if process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_END_SECONDS)
    if process.poll() is None:
        process.kill()
    process.wait()
