"""Between the control plane and the agent of one host: who leads, and a nudge. Pure.

A lock says whether an agent lives (the kernel lets go of it with the process); a FIFO wakes it.
"""

import fcntl
import os
import select
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class AgentLock:
    """Held by the one agent of a host for as long as it lives."""

    name = "agent.lock"

    def __init__(self, run: Path) -> None:
        self._path = run / self.name

    @contextmanager
    def held(self) -> Iterator[bool]:
        """Try to hold the lock; give True if it is ours now, False if another process has it."""
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            yield _try_lock(descriptor)
        finally:
            os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class StandbyLock(AgentLock):
    """Held by the one process of the control plane that stands in while no agent leads."""

    name = "standby.lock"


class Bell:
    """A FIFO that a sleeping agent listens to."""

    def __init__(self, run: Path) -> None:
        self._path = run / "agent.wake"

    def ring(self) -> None:
        """Wake the agent; without one, nothing happens."""
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return  # nobody listens, or there is no FIFO yet
        try:
            os.write(descriptor, b"!")
        except OSError:
            pass  # the FIFO is full of calls already, or the listener is just leaving
        finally:
            os.close(descriptor)

    @contextmanager
    def listening(self) -> Iterator["Ear"]:
        """Make the FIFO and give what waits on it."""
        if not self._path.exists():
            os.mkfifo(self._path, 0o600)
        # Read and write, so that it never reports the end of a file when the last caller hangs up.
        descriptor = os.open(self._path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            yield Ear(descriptor)
        finally:
            os.close(descriptor)


class Ear:
    """The agent's end of the bell."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def wait(self, seconds: float) -> None:
        """Return when somebody rang, or after this time."""
        ready, _, _ = select.select([self._descriptor], [], [], seconds)
        if ready:
            os.read(self._descriptor, 65536)
