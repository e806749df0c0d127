"""Leader lock of the agents on one host, and the wake-up notification for the leader. Pure.

An agent holds a file lock while it runs (the kernel releases it with the process), and renews a lease in the file's
modification time: a stopped agent loses leadership after ``LEASE_SECONDS`` (docs/adr/0054). A FIFO wakes the agent.
"""

import os
import select
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gatewall.kernel.file_io import open_lock, try_lock, try_lock_file
from gatewall.snapshot.confirmed import elapsed

LEASE_SECONDS = 5.0
"""An agent renews its lease twice a second. Replacing an agent that is only slow does no harm."""
_FIFO = "agent.wake"


class Lease:
    """The leader's lease."""

    def __init__(self, path: Path, descriptor: int, clock: Callable[[], float]) -> None:
        self._path = path
        self._descriptor = descriptor
        self._clock = clock

    def renew(self) -> bool:
        """Renew the lease; False if another agent has taken over."""
        if not _is_the_file(self._path, self._descriptor):
            return False
        moment = int(self._clock() * 1e9)
        with suppress(OSError):  # the file system became read-only: another process may take over
            os.utime(self._descriptor, ns=(moment, moment))
        return True


class AgentLock:
    """Leader lock of a host's agents. The file's modification time (since boot) is when the lease was renewed."""

    name = "agent.lock"

    def __init__(self, run: Path, clock: Callable[[], float] = elapsed) -> None:
        self._path = run / self.name
        self._clock = clock

    @contextmanager
    def held(self) -> Iterator[bool]:
        """Try the lock without leading; yield True if it was free."""
        descriptor = open_lock(self._path)
        try:
            yield try_lock(descriptor)
        finally:
            os.close(descriptor)

    @contextmanager
    def lead(self) -> Iterator[Lease | None]:
        """Try to become leader; yield None while another agent leads. Takes over from one whose lease is stale."""
        descriptor = self._take()
        try:
            yield None if descriptor is None else Lease(self._path, descriptor, self._clock)
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def is_led(self) -> bool:
        """True if an agent leads and its lease is not stale."""
        with self.held() as free:
            return not free and not self.is_stale()

    def is_stale(self) -> bool:
        """True if the leader has not renewed its lease in time.

        A new file has the time of day, which is later than any time since boot: not stale.
        """
        try:
            renewed_at = self._path.stat().st_mtime_ns / 1e9
        except FileNotFoundError:
            return False
        return self._clock() - renewed_at > LEASE_SECONDS

    def _take(self) -> int | None:
        """Return a descriptor that holds the lock, or None if another agent leads."""
        descriptor = try_lock_file(self._path)
        if descriptor is None and self.is_stale():
            descriptor = self._take_over()
        if descriptor is not None and not Lease(self._path, descriptor, self._clock).renew():
            os.close(descriptor)  # another agent took over between open and lock
            return None
        return descriptor

    def _take_over(self) -> int | None:
        """Replace a stopped agent's lock file by a locked one of our own."""
        beside = self._path.with_name(f"{self.name}.next")
        descriptor = try_lock_file(beside)  # one at a time
        if descriptor is None:
            return None
        if not _is_the_file(beside, descriptor) or not self.is_stale():
            os.close(descriptor)  # another agent was faster
            return None
        beside.replace(self._path)
        return descriptor


def _is_the_file(path: Path, descriptor: int) -> bool:
    """True if the open file still has this name."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


class StandbyLock(AgentLock):
    """Lock of the one control-plane process that publishes while no agent leads."""

    name = "standby.lock"


def notify(run: Path) -> None:
    """Wake the agent of this host, if one listens."""
    try:
        descriptor = os.open(run / _FIFO, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return  # no agent listens, or there is no FIFO yet
    try:
        os.write(descriptor, b"!")
    except OSError:
        pass  # the FIFO is full of notifications already, or the listener is closing
    finally:
        os.close(descriptor)


@contextmanager
def listening(run: Path) -> Iterator["Listener"]:
    """Create the FIFO and yield its listener."""
    if not (run / _FIFO).exists():
        os.mkfifo(run / _FIFO, 0o600)
    # Open for reading and writing, so that it never reports end-of-file when the last writer closes.
    descriptor = os.open(run / _FIFO, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        yield Listener(descriptor)
    finally:
        os.close(descriptor)


class Listener:
    """The agent's end of the FIFO."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def wait(self, seconds: float) -> None:
        """Return on a notification, or after this many seconds."""
        ready, _, _ = select.select([self._descriptor], [], [], seconds)
        if ready:
            with suppress(BlockingIOError):  # another agent of this host read it first
                os.read(self._descriptor, 65536)
