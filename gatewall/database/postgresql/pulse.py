"""Liveness of a database server, shared by the threads of a process. Pure: the probe is passed in.

A server is silent from an unanswered probe until the next byte received from it.
"""

import logging
import time
from collections.abc import Callable
from threading import Lock

logger = logging.getLogger(__name__)

_RETRY_SECONDS = 1.0
"""Minimum interval between probes of a silent server."""


class Pulse:
    """Liveness of one server. Thread-safe."""

    def __init__(
        self,
        name: str,
        probe: Callable[[], bool],
        patience: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``probe`` probes the server, in bounded time; ``patience`` is how long a wait may be silent, in seconds."""
        self._name = name
        self._probe = probe
        self._patience = patience
        self._clock = clock
        self._probe_lock = Lock()
        self._heard_at = self._probed_at = self._failed_at = float("-inf")
        self._silent = False

    def heard(self) -> None:
        self._heard_at = self._clock()
        if self._silent:
            self._silent = False
            logger.info("PostgreSQL at %s answers again", self._name)

    def failed(self, probed_at: float) -> None:
        """Record that a probe or connection attempt begun at that time timed out."""
        if self._heard_at >= probed_at:
            return  # another thread got a response meanwhile
        self._probed_at, self._failed_at = probed_at, self._clock()
        if not self._silent:
            self._silent = True
            logger.error("PostgreSQL at %s does not answer; its connections are closed", self._name)

    def is_alive(self, since: float) -> bool:
        """True to go on waiting for a response since that time; may probe the server, which blocks.

        Return False only if a probe that started after the wait also timed out.
        """
        silence = self._clock() - max(since, self._heard_at)
        if silence < self._patience and not self._silent:
            return True
        with self._probe_lock:  # one thread probes for all that wait
            if self._heard_at > since and not self._silent:
                return True
            if self._silent and self._probed_at >= since:
                return False
            return self._answers()

    def may_connect(self) -> bool:
        """True to connect. For a silent server, one thread per second probes first; all others get False."""
        if not self._silent:
            return True
        if not self._probe_lock.acquire(blocking=False):
            return False
        try:
            return self._clock() - self._failed_at >= _RETRY_SECONDS and self._answers()
        finally:
            self._probe_lock.release()

    def _answers(self) -> bool:
        probed_at = self._clock()
        if self._probe():
            self.heard()
        else:
            self.failed(probed_at)
        return not self._silent
