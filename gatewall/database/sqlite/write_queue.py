"""Fair lock (first come, first served) with a timeout, across threads and processes (``flock``, ``fcntl``). Pure.

The lock is ``flock`` on a file. A waiting writer also locks one byte of the file, after all locked bytes, and tries
for the lock only while no lower byte is locked. The kernel releases the locks of a process that dies. A process
stopped in the queue keeps its byte: if the lock then stays free, the next writers overtake it.
"""

import fcntl
import os
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from gatewall.kernel.file_io import try_lock

_FLOCK = struct.Struct("hhqqi4x")
"""``struct flock`` of 64-bit Linux: type, whence, start, length, pid."""
_TO_THE_END = 0
_LOOK_SECONDS = 0.001
_LONGEST_LOOK_SECONDS = 0.01
_STALLED_SECONDS = 0.2
"""After this time, a free lock may be taken out of turn. The first in the queue tries every millisecond."""


class WriteObserver(Protocol):
    """Callbacks after a connection has taken the lock and before it releases it. Nobody else commits in between."""

    def before_writing(self) -> None: ...

    def after_writing(self, *, counts: bool) -> None: ...


class WriteQueue:
    """One connection's access to the lock; not thread-safe."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        """Use the lock of this file, created on first use."""
        self._path = path
        self._clock = clock
        self._descriptor = -1
        self._process = 0
        self._held = False

    def __del__(self) -> None:
        self.close()

    def enter(self, seconds: float) -> bool:
        """Take the lock in turn; False on timeout. Raises OSError."""
        self._open()
        self._held = (
            self._held or (self._first_waiting() is None and try_lock(self._descriptor)) or self._wait_in_turn(seconds)
        )
        return self._held

    @property
    def is_held(self) -> bool:
        """True between ``enter()`` and ``leave()``."""
        return self._held

    def leave(self) -> None:
        if self._held:
            self._held = False
            self._unlock()

    def close(self) -> None:
        if self._descriptor >= 0:
            if self._process == os.getpid():
                self.leave()  # a forked child shares the lock and must not release it
            os.close(self._descriptor)
        self._descriptor, self._held = -1, False

    def _open(self) -> None:
        if self._process != os.getpid():
            self.close()  # inherited from the parent process
        if self._descriptor < 0:
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self._process = os.getpid()

    def _wait_in_turn(self, seconds: float) -> bool:
        free_since = self._clock()
        deadline = free_since + seconds
        place = self._take_place()
        try:
            while True:
                first, now = self._first_waiting(before=place), self._clock()
                if not try_lock(self._descriptor):
                    free_since = now
                elif first is None or now - free_since > _STALLED_SECONDS:
                    return True
                else:
                    self._unlock()
                ahead = 0 if first is None else place - first
                left = deadline - now
                if left <= 0:
                    return False
                time.sleep(min(left, _LOOK_SECONDS * max(1, ahead), _LONGEST_LOOK_SECONDS))
        finally:
            self._byte(fcntl.F_OFD_SETLK, fcntl.F_UNLCK, place, 1)

    def _take_place(self) -> int:
        """Lock the byte after all locked bytes, and return its number."""
        place = 0
        while True:
            while (taken := self._first_waiting(since=place)) is not None:
                place = taken + 1
            try:
                self._byte(fcntl.F_OFD_SETLK, fcntl.F_WRLCK, place, 1)
            except (BlockingIOError, PermissionError):
                continue  # another writer was faster
            return place

    def _first_waiting(self, *, since: int = 0, before: int | None = None) -> int | None:
        """Return the first byte in the range that another writer has locked, or None."""
        if before == 0:
            return None
        length = _TO_THE_END if before is None else before - since
        kind, _, start, _, _ = self._byte(fcntl.F_OFD_GETLK, fcntl.F_WRLCK, since, length)
        return None if kind == fcntl.F_UNLCK else start

    def _unlock(self) -> None:
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def _byte(self, command: int, kind: int, start: int, length: int) -> tuple[int, ...]:
        request = _FLOCK.pack(kind, os.SEEK_SET, start, length, 0)
        return _FLOCK.unpack(fcntl.fcntl(self._descriptor, command, request))
