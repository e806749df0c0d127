"""Thread that sends webhook notices while this host's agent leads."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from threading import Event, Thread

from django.db import Error, close_old_connections, connection
from django.utils import timezone

from gatewall.kernel.posting import Posted
from webhooks import delivering, incidents, outbox
from webhooks.outbox import Claimed

logger = logging.getLogger(__name__)

_EVERY_SECONDS = 1.0
_LAST_SECONDS = 2.0
_JOIN_SECONDS = 5.0
_Done = tuple[Claimed, Posted]


class WebhookSender:
    """A thread that looks after the outbox while this host's agent leads, and one more for each attempt.

    A webhook has one attempt at a time, so that a slow one delays nobody, and there are as many threads
    as webhooks at most. Only the first thread uses the database.
    """

    def __init__(self) -> None:
        self._stop = Event()
        self._stop.set()
        self._thread = Thread()
        self._busy: set[int] = set()
        self._done: SimpleQueue[_Done] = SimpleQueue()
        self.problem = ""
        """Why nothing is sent at the moment, or nothing."""

    @contextmanager
    def sending(self) -> Iterator[None]:
        """Send until the end of the block. What is under way then is sent again after its lease, under its old id."""
        self._stop.clear()
        self._start()
        try:
            yield
        finally:
            self._stop.set()
            self._thread.join(_JOIN_SECONDS)

    def keep_going(self) -> None:
        """Start again if the thread ended by a bug, which Python has written to stderr."""
        if not self._thread.is_alive() and not self._stop.is_set():
            self._start()

    def _start(self) -> None:
        # A daemon, as each attempt is: who waits for a slow server must not keep the agent from ending.
        self._busy.clear()
        self._thread = Thread(target=self._run, name="webhook-sender", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                self.turn()
                self.wait(_EVERY_SECONDS)
            until = time.monotonic() + _LAST_SECONDS
            while self._busy and time.monotonic() < until:
                self.wait(until - time.monotonic())
        finally:
            connection.close()

    def turn(self) -> None:
        """End the incidents that are over, and begin an attempt at what is due."""
        try:
            incidents.close_ended(timezone.now())
            for claimed in outbox.claim(timezone.now(), busy=self._busy):
                self._busy.add(claimed.webhook_id)
                Thread(target=self._attempt, args=[claimed], name="webhook", daemon=True).start()
            self._say("")
        except Error as error:
            self._failed(error)

    def wait(self, seconds: float) -> None:
        """Wait for an attempt to end, no longer than so many seconds, and note what became of it."""
        try:
            claimed, posted = self._done.get(timeout=max(0.0, seconds))
        except Empty:
            return
        self._busy.discard(claimed.webhook_id)
        try:
            delivering.settle(claimed, posted, timezone.now())
        except Error as error:
            self._failed(error)  # not noted: it is sent again after its lease

    def _attempt(self, claimed: Claimed) -> None:
        posted = Posted(failure="the attempt ended by a bug")  # which Python writes to stderr
        try:
            posted = delivering.attempt(claimed)
        finally:
            self._done.put((claimed, posted))  # whatever became of it: the webhook is busy no more

    def _failed(self, error: Error) -> None:
        self._say(f"webhooks are not sent to ({type(error).__name__})")
        with suppress(Error):
            close_old_connections()

    def _say(self, problem: str) -> None:
        """Log a problem once, and its end."""
        if problem != self.problem:
            logger.log(logging.ERROR if problem else logging.INFO, "agent: %s", problem or "sending to webhooks again")
        self.problem = problem
