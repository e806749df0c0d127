"""gunicorn's worker of the data plane: one event loop, one server, and a parent to die with.

gunicorn starts workers, replaces those that end, and passes signals on. A reload of its own ends the old
workers while the new ones still read their policy: the board, memory that master and workers share, says
which workers have been replaced and which answer, and the old ones stay until then.
"""

import asyncio
import ctypes
import mmap
import os
import signal
import struct
import sys
from contextlib import suppress
from typing import Any

from gunicorn.workers.base import Worker

from gatewall.forwardauth.server import AuthServer

_PR_SET_PDEATHSIG = 1
_HEARTBEAT_SECONDS = 1.0
_LOOK_SECONDS = 0.05
_STOP_SECONDS = 10.0
"""For what is under way; a service manager waits longer (deploy/systemd)."""
_PLACES = 1024
_AGE = struct.Struct("Q")


class Board:
    """Which workers answer, by their age (gunicorn's running number), and up to which age they were replaced."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _AGE.size + _PLACES)

    def replace_up_to(self, age: int) -> None:
        """Say that all workers up to this age have successors."""
        _AGE.pack_into(self._memory, 0, age)

    def is_replaced(self, age: int) -> bool:
        """True if the worker has a successor that stays, or is about to start."""
        return age <= self._replaced_up_to()

    def starts(self, age: int) -> None:
        """Say that a worker does not answer yet."""
        self._memory[_place(age)] = 0

    def answers(self, age: int) -> None:
        """Say that a worker answers."""
        self._memory[_place(age)] = 1

    def successors(self) -> int:
        """Return how many workers answer that are not replaced."""
        first = self._replaced_up_to() + 1
        return sum(self._memory[_place(age)] for age in range(first, first + _PLACES // 2))

    def _replaced_up_to(self) -> int:
        age: int = _AGE.unpack_from(self._memory)[0]
        return age


def _place(age: int) -> int:
    return _AGE.size + age % _PLACES


board = Board()


def on_reload(master: Any) -> None:
    """Gunicorn's hook: called before it starts the successors of all its workers."""
    board.replace_up_to(master.worker_age)


def pre_fork(master: Any, worker: Any) -> None:
    """Gunicorn's hook: called before a worker is started; its place may have had another's mark."""
    board.starts(worker.age)
    board.starts(worker.age + _PLACES // 2)


class AuthWorker(Worker):  # type: ignore[misc] # gunicorn has no types
    """Runs the data plane's server."""

    def init_process(self) -> None:
        """Have the kernel end this worker when its master is gone: an orphan would keep the port."""
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != self.ppid:
            os._exit(1)  # it was killed before the kernel knew: no signal will come any more
        super().init_process()

    def run(self) -> None:
        """Serve until told to end."""
        asyncio.run(self._serve())
        sys.exit(0)

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        ends = asyncio.Event()
        loop.add_signal_handler(signal.SIGTERM, ends.set)
        for at_once in (signal.SIGQUIT, signal.SIGINT):
            loop.add_signal_handler(at_once, sys.exit, 0)
        if not self.alive:  # it was told to end while it read the policy
            return
        server = AuthServer(self.wsgi, [each.sock for each in self.sockets])
        server.start()
        board.answers(self.age)
        beats = loop.create_task(self._beat())
        await ends.wait()
        await self._until_replaced(ends)
        board.starts(self.age)
        await server.stop(_STOP_SECONDS)
        beats.cancel()

    async def _beat(self) -> None:
        while True:
            self.notify()
            await asyncio.sleep(_HEARTBEAT_SECONDS)

    async def _until_replaced(self, ends: asyncio.Event) -> None:
        """Wait until successors answer, if there are to be any. Who is told again to end does so."""
        ends.clear()
        while board.is_replaced(self.age) and board.successors() < self.cfg.workers:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_SECONDS):
                    await ends.wait()
                return
