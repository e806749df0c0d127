"""The agent's main loop: publish committed changes and report the workers' state."""

import logging
import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.db import Error, close_old_connections
from django.utils import timezone

from gatewall.agent import housekeeping
from gatewall.agent.backtest_runner import BacktestRunner
from gatewall.agent.host_events import ConfirmationGaps, HostEvents
from gatewall.agent.list_fetcher import ListFetcher
from gatewall.agent.log_shipper import LogShipper
from gatewall.agent.mail_sender import MailSender
from gatewall.agent.refusal_watch import RefusalWatches
from gatewall.agent.shadow_publisher import ShadowPublisher
from gatewall.agent.webhook_sender import WebhookSender
from gatewall.engine.snapshot import Version
from gatewall.kernel.log_lines import ProblemLog
from gatewall.policy import revisions
from gatewall.publication.announcement import published_by_caller
from gatewall.publication.nodes import report_node
from gatewall.publication.publisher import publish
from gatewall.snapshot.confirmed import elapsed
from gatewall.snapshot.files import PolicyFiles, Stamp
from gatewall.snapshot.host_paths import node_name, policy_files, run_folder
from gatewall.snapshot.notification import AgentLock, Lease, Listener, listening
from gatewall.snapshot.worker_report import living_workers, workers_folder
from gatewall.whatif import waf_monitoring
from gatewall.whatif.shadow.documents import try_document
from policies.history import confirmation

logger = logging.getLogger(__name__)

_POLL_SECONDS = 0.5
_VERIFY_SECONDS = 60.0
_REPORT_EVERY = timedelta(seconds=1)
_QUIET_REPORT_EVERY = timedelta(seconds=10)
"""Interval while the database has not changed for ``_QUIET_AFTER_SECONDS`` and no change waits for confirmation."""
_QUIET_AFTER_SECONDS = 3.0
_NICENESS = 5


class Agent:
    """Publishes the policy of one host.

    Each turn: publish, revert unconfirmed changes, report, clean up, sleep until notified or for 500 ms. Threads beside
    it ship the access log, fetch lists, send webhooks and mails, run backtests, publish the shadow policy and check
    watched changes. On SQLite a turn reads the version, and wakes the threads, only if the database has changed.
    """

    def __init__(self, files: PolicyFiles, run: Path, node: str, shipper: LogShipper) -> None:
        self._shipper = shipper
        shadow = ShadowPublisher(files, run, node, try_document)
        senders = (WebhookSender(), MailSender())
        self._loops = (shipper, ListFetcher(), *senders, BacktestRunner(), shadow, RefusalWatches())
        self._files = files
        self._run = run
        self._node = node
        self._events = HostEvents(node, run)
        self._gaps = ConfirmationGaps(node, files.confirmations)
        self._changes = shipper.changes
        self._head: Version | None = None
        """The committed version; None if the database may have changed since it was read."""
        self._awaits_confirmation = False
        self._may_await_confirmation = True
        self._published: Version | None = None
        self._stamp: Stamp | None = None
        self._log = ProblemLog(logger, "agent: ", "publishing again")
        self._verified_at = float("-inf")
        self._refused: list[str] = []
        self._reported_at = timezone.now() - _REPORT_EVERY
        self._tidied_at = timezone.now() - housekeeping.EVERY

    @classmethod
    def of_this_host(cls) -> "Agent":
        """Return the agent with this installation's folders."""
        home = settings.GATEWALL_HOME
        return cls(policy_files(settings.CONFIG), run_folder(home), node_name(), LogShipper(home / "spool"))

    def lead(self, should_stop: Callable[[], bool]) -> None:
        """Wait for the host's leader lock, then take turns until stopped."""
        os.nice(_NICENESS)  # workers that answer requests come first
        lock = AgentLock(self._run)
        while not should_stop():
            with lock.lead() as lease:
                if lease is not None:
                    with listening(self._run) as listener:
                        self._lead(lease, should_stop, listener)
            if not should_stop():
                time.sleep(_POLL_SECONDS)

    def _lead(self, lease: Lease, should_stop: Callable[[], bool], listener: Listener) -> None:
        """Take turns until stopped, or until another agent took over because this process was suspended."""
        with ExitStack() as running:
            running.callback(self._changes.close)
            for loop in self._loops:
                running.enter_context(loop.running())
            while not should_stop():
                if not lease.renew():
                    logger.warning("agent: another agent has taken over, because this one was suspended")
                    return
                self.turn()
                listener.wait(_POLL_SECONDS)

    def turn(self) -> None:
        """Publish committed changes; once a second revert and report; every ten minutes clean up."""
        try:
            self._gaps.check(timezone.now())
            self._publish()
            self._gaps.check(timezone.now())
            self._gaps.record()
            with published_by_caller():
                self._maintain()
        except Error as error:
            self._log.say(f"the database cannot be used ({type(error).__name__})")
            close_old_connections()

    def _maintain(self) -> None:
        """Revert, report and clean up. The agent publishes its own changes, in this turn or the next."""
        if abs(timezone.now() - self._reported_at) >= self._report_every():  # abs: the clock may be set back
            self._revert_overdue()
            waf_monitoring.report_ended(timezone.now())
            self._report()
            self._reported_at = timezone.now()
        self._tidy()

    def _revert_overdue(self) -> None:
        if not (self._awaits_confirmation or self._may_await_confirmation):
            return
        awaits = confirmation.pending().exists()
        if awaits and confirmation.revert_overdue(timezone.now()):
            self._publish()
            awaits = confirmation.pending().exists()
        self._awaits_confirmation, self._may_await_confirmation = awaits, False

    def _report_every(self) -> timedelta:
        is_quiet = self._changes.quiet_seconds() >= _QUIET_AFTER_SECONDS and not self._awaits_confirmation
        return _QUIET_REPORT_EVERY if is_quiet else _REPORT_EVERY

    def _publish(self) -> None:
        published, asked_at = (self._published, self._stamp), elapsed()
        is_published = published == (self._committed(), self._files.stamp()) and not self._log.problem
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
            verify = verify and isinstance(error, ValueError)  # all files were verified; the invalid row remains
        if verify:
            self._verified_at = asked_at

    def _committed(self) -> Version:
        """Return the committed version; wake the threads if the database may have changed. Raises django.db.Error."""
        if self._changes.look():
            self._head, self._may_await_confirmation = None, True
            for loop in self._loops:
                loop.wake()
        if self._head is None:
            self._head = revisions.current()
        return self._head

    def _report(self) -> None:
        for loop in self._loops:
            loop.keep_going()
        problem = self._log.problem or self._shipper.problem
        with self._changes.uncounted():  # our own report must not wake the threads
            report_node(self._node, self._files, self._run, problem, self._shipper.state())
        refused = [state.rejected for state in living_workers(workers_folder(self._run)) if state.rejected]
        if refused and refused != self._refused:
            self._verified_at = float("-inf")  # verify again: published files may be damaged
        self._refused = refused
        self._events.record(timezone.now(), filter(None, [self._log.problem, *refused]))

    def _tidy(self) -> None:
        """Delete a batch of old rows; if there were any, continue in the next turn, after publishing."""
        now = timezone.now()
        if abs(now - self._tidied_at) < housekeeping.EVERY:
            return
        more_since, self._tidied_at = self._tidied_at, now  # after an error, retry in ten minutes
        if housekeeping.tidy(now):
            self._tidied_at = more_since
