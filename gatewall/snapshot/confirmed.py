"""When this host's policy was last confirmed as current by the database. Pure.

The moment is on the clock that runs from boot (``CLOCK_BOOTTIME``), which nobody sets and which goes on while the
machine sleeps. It is the modification time of an empty file: written in one call, also on a full disk, and never half.
"""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

ALARM_SECONDS = 15.0
"""An agent that lives confirms twice a second; a busy machine is no alarm."""
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_PREFIX = "confirmed-"


def elapsed() -> float:
    """Return the seconds since the machine was started."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Confirmations:
    """The file of this host and boot: what another machine or an earlier boot has left there is not read.

    Where the kernel does not say which boot this is there is none, and nothing is ever confirmed.
    """

    def __init__(self, folder: Path, boot: str | None = None, clock: Callable[[], float] = elapsed) -> None:
        self._folder = folder
        name = _boot_id() if boot is None else boot
        self._path = folder / f"{_PREFIX}{name}" if name else None
        self._clock = clock

    def confirm(self, at: float) -> None:
        """Record that the published policy was current at this moment, unless a later moment is recorded. OSError."""
        before = self.last()
        if self._path is None or (before is not None and before >= at):
            return
        try:
            os.utime(self._path, ns=_both(at))
        except FileNotFoundError:
            self._make(self._path, at)

    def last(self) -> float | None:
        """Return the last moment that was noted, or None while there is none. Never raises."""
        if self._path is None:
            return None
        try:
            at = os.stat(self._path).st_mtime_ns / 1e9  # noqa: PTH116 - looked at all the time
        except OSError:
            return None
        return at if at <= self._clock() else None  # one that has just been made has the time of day

    def _make(self, path: Path, at: float) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        os.utime(path, ns=_both(at))
        for other in self._folder.glob(f"{_PREFIX}*"):
            if other != path:
                with suppress(OSError):
                    other.unlink()


class PolicyAge:
    """How long ago the policy of a process was last known to be the one in force."""

    def __init__(
        self, confirmed_at: Callable[[], float | None] = lambda: None, clock: Callable[[], float] = elapsed
    ) -> None:
        self._confirmed_at = confirmed_at
        self._clock = clock
        self._started = clock()

    def seconds(self) -> float:
        """Return how long; while it was never confirmed, since this process began to ask."""
        at, now = self._confirmed_at(), self._clock()
        self._started = min(self._started, now)  # a machine that was restored in its sleep may wake up earlier
        return now - (self._started if at is None or at > now else at)

    def is_over(self, seconds: float) -> bool:
        """True if it is longer, and while it was never confirmed: what nobody has vouched for is not fresh.

        A moment that is still to come was confirmed before the clock went back, nobody knows how long ago.
        """
        at = self._confirmed_at()
        return at is None or not 0 <= self._clock() - at <= seconds

    def alarm(self) -> str:
        """Return what health says of it, empty while there is nothing to say."""
        seconds = self.seconds()
        return f"not confirmed for {seconds:.0f} s" if seconds > ALARM_SECONDS else ""


def _both(at: float) -> tuple[int, int]:
    moment = int(at * 1e9)
    return moment, moment


@cache
def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""
