"""Thread that sends webhook notices while this host's agent leads."""

import time
from queue import Empty, SimpleQueue
from threading import Thread

from django.db import Error
from django.utils import timezone

from gatewall.agent.loop import Loop
from gatewall.kernel.posting import Posted
from webhooks import delivering, incidents, outbox
from webhooks.outbox import Claimed

_FINISH_SECONDS = 2.0
_Done = tuple[Claimed, Posted]


class WebhookSender(Loop):
    """Closes ended incidents, and sends each due webhook notice from a thread of its own.

    Each webhook has at most one attempt at a time, so a slow one delays no other. Threads do not use the database. An
    attempt interrupted by the end of the agent is repeated after its lease, with the same id.
    """

    name = "webhook-sender"
    every_seconds = 1.0
    join_seconds = 5.0
    failing = "webhook notices are not sent"
    recovered = "sending to webhooks again"

    def __init__(self) -> None:
        super().__init__()
        self._busy: set[int] = set()
        self._done: SimpleQueue[_Done] = SimpleQueue()

    def _start(self) -> None:
        self._busy.clear()
        super()._start()

    def _work(self) -> None:
        incidents.close_ended(timezone.now())
        for claimed in outbox.claim(timezone.now(), busy=self._busy):
            self._busy.add(claimed.webhook_id)
            Thread(target=self._attempt, args=[claimed], name="webhook", daemon=True).start()

    def _is_idle(self) -> bool:
        return not self._busy and not outbox.is_waiting() and not incidents.are_open()

    def _rest(self) -> None:
        self.wait(self.every_seconds)

    def _finish(self) -> None:
        until = time.monotonic() + _FINISH_SECONDS
        while self._busy and time.monotonic() < until:
            self.wait(until - time.monotonic())

    def wait(self, seconds: float) -> None:
        """Wait for an attempt to end, at most that many seconds, and record its result."""
        try:
            claimed, posted = self._done.get(timeout=max(0.0, seconds))
        except Empty:
            return
        self._busy.discard(claimed.webhook_id)
        try:
            delivering.settle(claimed, posted, timezone.now())
        except Error as error:
            self._failed(error)  # not recorded: sent again after its lease

    def _attempt(self, claimed: Claimed) -> None:
        posted = Posted(failure="the attempt ended by a bug")  # Python writes the exception to stderr
        try:
            posted = delivering.attempt(claimed)
        finally:
            self._done.put((claimed, posted))  # in any case, so that the webhook is not busy any more
