"""Publish on a host without a working agent: a standby thread in each control-plane process, one of them active.

It bridges the seconds until a killed agent is restarted, so that revocations made on other hosts do not wait.
"""

import logging
from pathlib import Path
from threading import Event, Thread

from django.db import Error, connection

from gatewall.engine.snapshot import Version
from gatewall.kernel.log_lines import ProblemLog
from gatewall.policy import revisions
from gatewall.publication.publisher import publish
from gatewall.snapshot.confirmed import elapsed
from gatewall.snapshot.files import PolicyFiles, Stamp
from gatewall.snapshot.notification import AgentLock, StandbyLock

logger = logging.getLogger(__name__)

EVERY_SECONDS = 0.25
BESIDE_ITS_AGENT_SECONDS = 1.0
"""Interval in a process that runs the agent itself: both die together, so that only a hung agent must be noticed."""
_AFTER_A_BUG_SECONDS = 2.0


class Standby:
    """Checks regularly whether an agent leads, and publishes while none does."""

    def __init__(self, files: PolicyFiles, run: Path, every_seconds: float = EVERY_SECONDS) -> None:
        self._files = files
        self._run = run
        self._every_seconds = every_seconds
        self._published: tuple[Version, Stamp | None] | None = None
        self._log = ProblemLog(logger, "", "publishing again")
        self._stop = Event()

    def start(self) -> None:
        Thread(target=self._keep_going, name="standby", daemon=True).start()

    def close(self) -> None:
        self._stop.set()

    def turn(self) -> bool:
        """Publish the committed policy if no other process does on this host; True if this process stands in."""
        with StandbyLock(self._run).held() as ours:
            if ours and not AgentLock(self._run).is_led():  # releases the lock at once: a starting agent gets it
                self._publish()
                return True
        if self._published is not None:
            self._published = None
            connection.close()  # the agent publishes again
        return False

    def _keep_going(self) -> None:
        """Run the worker thread, and restart it after an unexpected exception, which Python wrote to stderr."""
        while not self._stop.is_set():
            try:
                thread = Thread(target=self._watch, name="standby-look", daemon=True)
                thread.start()
                thread.join()
            except (MemoryError, RuntimeError) as error:
                logger.error("the standby has no thread: %s", error)  # noqa: TRY400 - the message is enough
            if not self._stop.is_set():
                self._published = None
                self._report_problem("a bug")
                self._stop.wait(_AFTER_A_BUG_SECONDS)

    def _watch(self) -> None:
        try:
            while not self._stop.wait(self._every_seconds):
                try:
                    self.turn()
                except OSError as error:
                    self._report_problem(f"the locks of this host cannot be used ({error})")
        finally:
            connection.close()

    def _publish(self) -> None:
        asked_at = elapsed()
        try:
            if self._published is not None and self._published == (revisions.current(), self._files.stamp()):
                self._files.confirmations.confirm(asked_at)
            else:
                first = self._published is None
                version = publish(self._files, over_newer_release=False, verify=first).version
                self._published = version, self._files.stamp()
            self._log.say("")
        except (Error, OSError, ValueError) as error:
            self._published = None  # the database may be another one after the failure, with other version numbers
            connection.close()
            self._report_problem(
                f"{type(error).__name__}: {error}" if isinstance(error, ValueError) else type(error).__name__
            )

    def _report_problem(self, problem: str) -> None:
        self._log.say(f"no agent leads, and the policy is not published: {problem}")
