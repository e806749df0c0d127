"""The agent's main loop: publish committed changes and report the workers' state."""

import logging
import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

from django.db import Error, close_old_connections
from django.utils import timezone

from gatewall.agent import housekeeping
from gatewall.agent.backtest_runner import BacktestRunner
from gatewall.agent.host_events import HostEvents
from gatewall.agent.list_fetcher import ListFetcher
from gatewall.agent.log_shipper import LogShipper
from gatewall.agent.unconfirmed import CutOff
from gatewall.agent.webhook_sender import WebhookSender
from gatewall.engine.snapshot import Version
from gatewall.kernel.log_lines import ProblemLog
from gatewall.policy import revisions
from gatewall.publication.announcement import published_by_caller
from gatewall.publication.nodes import report_node
from gatewall.publication.publisher import publish
from gatewall.snapshot.confirmed import elapsed
from gatewall.snapshot.files import PolicyFiles, Stamp
from gatewall.snapshot.notification import AgentLock, Lease, Listener, Notifier
from gatewall.snapshot.worker_report import living_workers, workers_folder
from policies.history import confirmation

logger = logging.getLogger(__name__)

_POLL_SECONDS = 0.5
_VERIFY_SECONDS = 60.0
_REPORT_EVERY = timedelta(seconds=1)
_NICENESS = 5


class Agent:
    """Publishes the policy of one host.

    The steps of a turn: publish, take back what nobody confirmed, report, tidy up, sleep until rung or 500 ms.

    Beside it, threads ship the access log, fetch lists, send notices and start the processes of backtests.
    """

    def __init__(self, files: PolicyFiles, run: Path, node: str, shipper: LogShipper) -> None:
        self._shipper = shipper
        self._loops = (shipper, ListFetcher(), WebhookSender(), BacktestRunner())
        self._files = files
        self._run = run
        self._node = node
        self._events = HostEvents(node, run)
        self._cut_off = CutOff(node, files.confirmations)
        self._published: Version | None = None
        self._stamp: Stamp | None = None
        self._log = ProblemLog(logger, "agent: ", "publishing again")
        self._verified_at = float("-inf")
        self._refused: list[str] = []
        self._reported_at = timezone.now() - _REPORT_EVERY
        self._tidied_at = timezone.now() - housekeeping.EVERY

    def lead(self, should_stop: Callable[[], bool]) -> None:
        """Wait until no other agent leads this host, then take turns until told to stop."""
        os.nice(_NICENESS)  # answers come first
        lock = AgentLock(self._run)
        while not should_stop():
            with lock.lead() as lease:
                if lease is not None:
                    with Notifier(self._run).listening() as listener:
                        self._lead(lease, should_stop, listener)
            if not should_stop():
                time.sleep(_POLL_SECONDS)

    def _lead(self, lease: Lease, should_stop: Callable[[], bool], listener: Listener) -> None:
        """Take turns until told to stop, or until another agent has taken over: then this one was stopped for long."""
        with ExitStack() as running:
            for loop in self._loops:
                running.enter_context(loop.running())
            while not should_stop():
                if not lease.renew():
                    logger.warning("agent: another one has taken over, because this one stood still")
                    return
                self.turn()
                listener.wait(_POLL_SECONDS)

    def turn(self) -> None:
        """Publish if something was committed, take back and report once a second, and tidy up every ten minutes."""
        try:
            self._cut_off.look(timezone.now())
            self._publish()
            self._cut_off.look(timezone.now())
            self._cut_off.tell()
            with published_by_caller():
                self._maintain()
        except Error as error:
            self._log.say(f"the database cannot be used ({type(error).__name__})")
            close_old_connections()

    def _maintain(self) -> None:
        """Take back, report and tidy up. What this changes, this thread publishes: now, or with its next turn."""
        if abs(timezone.now() - self._reported_at) >= _REPORT_EVERY:  # a clock is set back, too
            if confirmation.revert_overdue(timezone.now()):
                self._publish()
            self._report()
            self._reported_at = timezone.now()
        self._tidy()

    def _publish(self) -> None:
        published, asked_at = (self._published, self._stamp), elapsed()
        is_published = published == (revisions.current(), self._files.stamp()) and not self._log.problem
        verify = not 0 <= asked_at - self._verified_at < _VERIFY_SECONDS
        try:
            if is_published and not verify:
                self._files.confirmations.confirm(asked_at)
                return
            self._published = publish(self._files, verify=verify).version
            self._stamp = self._files.stamp()
            self._log.say("")
        except (ValueError, OSError) as error:
            self._log.say(f"policy.rejected: {error}")
            verify = verify and isinstance(error, ValueError)  # all files were read, and the row stays what it is
        if verify:
            self._verified_at = asked_at

    def _report(self) -> None:
        for loop in self._loops:
            loop.keep_going()
        problem = self._log.problem or self._shipper.problem
        report_node(self._node, self._files, self._run, problem, self._shipper.state())
        refused = [state.rejected for state in living_workers(workers_folder(self._run)) if state.rejected]
        if refused and refused != self._refused:
            self._verified_at = float("-inf")  # what is published may be damaged
        self._refused = refused
        self._events.look(timezone.now(), filter(None, [self._log.problem, *refused]))

    def _tidy(self) -> None:
        """Delete a part of what is old; where there was something, the next turn goes on, for it publishes first."""
        now = timezone.now()
        if abs(now - self._tidied_at) < housekeeping.EVERY:
            return
        more_since, self._tidied_at = self._tidied_at, now  # what fails is tried again in ten minutes
        if housekeeping.tidy(now):
            self._tidied_at = more_since
