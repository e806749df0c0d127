"""Liveness of a database server, shared by the threads of this process. Pure: the probe is passed in.

A server is silent from a question that was not answered until the next byte that comes from it.
"""

import logging
import time
from collections.abc import Callable
from threading import Lock

logger = logging.getLogger(__name__)

_AGAIN_SECONDS = 1.0
"""For so long nobody knocks at a silent server after somebody did in vain."""


class Pulse:
    """What is known of one server. Any thread may call anything."""

    def __init__(
        self,
        name: str,
        ask: Callable[[], bool],
        patience: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``ask`` returns whether the server answers within a bounded time; ``patience`` is for who waits for it."""
        self._name = name
        self._ask = ask
        self._patience = patience
        self._clock = clock
        self._asking = Lock()
        self._heard_at = self._asked_at = self._failed_at = float("-inf")
        self._silent = False

    def heard(self) -> None:
        """Something came from the server."""
        self._heard_at = self._clock()
        if self._silent:
            self._silent = False
            logger.info("PostgreSQL at %s answers again", self._name)

    def failed(self, asked_at: float) -> None:
        """What was asked at that moment was not answered in time."""
        if self._heard_at >= asked_at:
            return  # somebody else was answered meanwhile
        self._asked_at, self._failed_at = asked_at, self._clock()
        if not self._silent:
            self._silent = True
            logger.error("PostgreSQL at %s does not answer: who waits for it is given up", self._name)

    def beats(self, since: float) -> bool:
        """Return whether to go on waiting for what was asked ``since``; may ask the server, and then takes that long.

        Return False only if a probe that started after the wait also timed out.
        """
        silence = self._clock() - max(since, self._heard_at)
        if silence < self._patience and not self._silent:
            return True
        with self._asking:  # one asks for all that wait
            if self._heard_at > since and not self._silent:
                return True
            if self._silent and self._asked_at >= since:
                return False
            return self._answers()

    def lets_in(self) -> bool:
        """Return whether to connect. At a silent server one thread a second asks first, and all others turn away."""
        if not self._silent:
            return True
        if not self._asking.acquire(blocking=False):
            return False
        try:
            return self._clock() - self._failed_at >= _AGAIN_SECONDS and self._answers()
        finally:
            self._asking.release()

    def _answers(self) -> bool:
        asked_at = self._clock()
        if self._ask():
            self.heard()
        else:
            self.failed(asked_at)
        return not self._silent
