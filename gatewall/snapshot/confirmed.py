"""Record when this host's policy was last confirmed as current by the database. Pure.

Times are those of ``CLOCK_BOOTTIME``, which cannot be set and continues during suspend. The moment is stored as the
modification time of an empty file: one atomic system call, which also works on a full disk.
"""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

ALARM_SECONDS = 15.0
"""A working agent confirms twice a second; a busy machine must not raise the alarm."""
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_PREFIX = "confirmed-"


def elapsed() -> float:
    """Return the seconds since boot."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Confirmations:
    """Confirmation file of this host and boot; those of other machines or earlier boots are ignored.

    Without a boot id from the kernel nothing is ever confirmed.
    """

    def __init__(self, folder: Path, boot: str | None = None, clock: Callable[[], float] = elapsed) -> None:
        self._folder = folder
        name = _boot_id() if boot is None else boot
        self._path = folder / f"{_PREFIX}{name}" if name else None
        self._clock = clock

    def confirm(self, at: float) -> None:
        """Record that the published policy was current at this moment, unless a later one is. Raises OSError."""
        before = self.last()
        if self._path is None or (before is not None and before >= at):
            return
        try:
            os.utime(self._path, ns=_both_times(at))
        except FileNotFoundError:
            self._make(self._path, at)

    def last(self) -> float | None:
        """Return the last recorded moment, or None. Never raises."""
        if self._path is None:
            return None
        try:
            at = os.stat(self._path).st_mtime_ns / 1e9  # noqa: PTH116 - called for every poll
        except OSError:
            return None
        return at if at <= self._clock() else None  # a file just created has the time of day

    def _make(self, path: Path, at: float) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        os.utime(path, ns=_both_times(at))
        for other in self._folder.glob(f"{_PREFIX}*"):
            if other != path:
                with suppress(OSError):
                    other.unlink()


class PolicyAge:
    """Time since this process's policy was last confirmed as current."""

    def __init__(
        self, confirmed_at: Callable[[], float | None] = lambda: None, clock: Callable[[], float] = elapsed
    ) -> None:
        self._confirmed_at = confirmed_at
        self._clock = clock
        self._started = clock()

    def seconds(self) -> float:
        """Return the age in seconds; if never confirmed, since this process started."""
        at, now = self._confirmed_at(), self._clock()
        self._started = min(self._started, now)  # a restored virtual machine may wake with an earlier clock
        return now - (self._started if at is None or at > now else at)

    def is_over(self, seconds: float) -> bool:
        """True if the policy is older, was never confirmed, or its confirmation lies in the future (clock reset)."""
        at = self._confirmed_at()
        return at is None or not 0 <= self._clock() - at <= seconds

    def alarm(self) -> str:
        """Return the health alarm, or empty."""
        seconds = self.seconds()
        return f"not confirmed for {seconds:.0f} s" if seconds > ALARM_SECONDS else ""


def _both_times(at: float) -> tuple[int, int]:
    moment = int(at * 1e9)
    return moment, moment


@cache
def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""
