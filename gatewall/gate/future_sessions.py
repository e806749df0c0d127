"""Log that session tokens begin in the future by this host's clock: one of the clocks is wrong. Pure."""

import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime

logger = logging.getLogger(__name__)
_EVERY_SECONDS = 60.0


class FutureSessions:
    """Logs one line, at most once a minute per process."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._next_at = monotonic()

    def log(self, at: float, begins_at: float) -> None:
        """Log that a token with a good signature was refused at this time, because it is not valid yet."""
        if self._monotonic() < self._next_at:
            return
        self._next_at = self._monotonic() + _EVERY_SECONDS
        logger.error(
            "session.future: a session was refused because it begins %d s in the future by the clock of this host, "
            "which shows %s UTC: set the clocks of all hosts of Gatewall by a time server",
            begins_at - at,
            datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S"),
        )
