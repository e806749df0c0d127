"""Leader lock of the agents on one host, and the wake-up notification for the leader. Pure.

A lock says whether an agent lives (the kernel lets go of it with the process), and the time of its file when the agent
last said so: one that was stopped leads no more after ``LEASE_SECONDS`` (docs/adr/0054). A FIFO wakes the agent.
"""

import os
import select
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gatewall.kernel.file_io import open_lock, try_lock, try_lock_file
from gatewall.snapshot.confirmed import elapsed

LEASE_SECONDS = 5.0
"""An agent renews its lease twice a second. Whoever stands in for one that is only slow does no harm."""


class Lease:
    """What the agent that leads has."""

    def __init__(self, path: Path, descriptor: int, clock: Callable[[], float]) -> None:
        self._path = path
        self._descriptor = descriptor
        self._clock = clock

    def renew(self) -> bool:
        """Say that this agent still leads and return True; False if another one has taken over."""
        if not _is_the_file(self._path, self._descriptor):
            return False
        moment = int(self._clock() * 1e9)
        with suppress(OSError):  # a file system that became read-only: others may stand in
            os.utime(self._descriptor, ns=(moment, moment))
        return True


class AgentLock:
    """Held by the one agent that leads a host. Its file has the time, since boot, when that agent last said so."""

    name = "agent.lock"

    def __init__(self, run: Path, clock: Callable[[], float] = elapsed) -> None:
        self._path = run / self.name
        self._clock = clock

    @contextmanager
    def held(self) -> Iterator[bool]:
        """Try to hold the lock; give True if it is ours now, False if another process has it."""
        descriptor = open_lock(self._path)
        try:
            yield try_lock(descriptor)
        finally:
            os.close(descriptor)

    @contextmanager
    def lead(self) -> Iterator[Lease | None]:
        """Try to lead; give None while another agent does, and take over from one that stands still."""
        descriptor = self._take()
        try:
            yield None if descriptor is None else Lease(self._path, descriptor, self._clock)
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def is_led(self) -> bool:
        """True if an agent leads and does not stand still."""
        with self.held() as free:
            return not free and not self.is_stale()

    def is_stale(self) -> bool:
        """True if whoever holds the lock has not renewed the lease in time.

        The time of day, which a new file has, is later than any time since boot: it is not stale.
        """
        try:
            renewed_at = self._path.stat().st_mtime_ns / 1e9
        except FileNotFoundError:
            return False
        return self._clock() - renewed_at > LEASE_SECONDS

    def _take(self) -> int | None:
        """Return a descriptor that holds the lock, None if another agent leads."""
        descriptor = try_lock_file(self._path)
        if descriptor is None and self.is_stale():
            descriptor = self._take_over()
        if descriptor is not None and not Lease(self._path, descriptor, self._clock).renew():
            os.close(descriptor)  # another one has taken over between our opening the file and locking it
            return None
        return descriptor

    def _take_over(self) -> int | None:
        """Put a file of our own, which is locked, in the place of the one that a stopped agent holds."""
        beside = self._path.with_name(f"{self.name}.next")
        descriptor = try_lock_file(beside)  # one at a time
        if descriptor is None:
            return None
        if not _is_the_file(beside, descriptor) or not self.is_stale():
            os.close(descriptor)  # somebody else was faster
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
    """Held by the one process of the control plane that stands in while no agent leads."""

    name = "standby.lock"


class Notifier:
    """Wakes the agent of this host through a FIFO."""

    def __init__(self, run: Path) -> None:
        self._path = run / "agent.wake"

    def notify(self) -> None:
        """Wake the agent, if one listens."""
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return  # no agent listens, or there is no FIFO yet
        try:
            os.write(descriptor, b"!")
        except OSError:
            pass  # the FIFO is full of notifications already, or the listener is closing
        finally:
            os.close(descriptor)

    @contextmanager
    def listening(self) -> Iterator["Listener"]:
        """Make the FIFO and yield its listener."""
        if not self._path.exists():
            os.mkfifo(self._path, 0o600)
        # Read and write, so that it never reports the end of a file when the last caller hangs up.
        descriptor = os.open(self._path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            yield Listener(descriptor)
        finally:
            os.close(descriptor)


class Listener:
    """The agent's end of the FIFO."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def wait(self, seconds: float) -> None:
        """Return on a notification, or after this time."""
        ready, _, _ = select.select([self._descriptor], [], [], seconds)
        if ready:
            with suppress(BlockingIOError):  # another agent of this host has just read it
                os.read(self._descriptor, 65536)
