"""Life cycle of a worker of either plane: report to the master, serve, drain, stop."""

import asyncio
import ctypes
import os
import signal
import sys
import time
from abc import abstractmethod

from gunicorn.workers.base import Worker

from gatewall.server.server import LEAVING_SECONDS, Server

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)
_PR_SET_PDEATHSIG = 1
_HEARTBEAT_SECONDS = 1.0
_START_TIMEOUTS = 6
"""How many timeouts a worker may take to start: a large policy takes longer to read than an answer to give."""


class AnsweringWorker(Worker):  # type: ignore[misc] # gunicorn has no types
    """A worker whose heartbeat file says when it was last alive and, by its length, whether it answers."""

    stop_seconds = 10.0
    """For what is under way; a service manager waits longer (deploy/systemd)."""
    lingering_seconds = LEAVING_SECONDS

    @property
    def answers(self) -> bool:
        """True from when the worker accepts connections."""
        return os.fstat(self.tmp.fileno()).st_size > 0

    def init_process(self) -> None:
        """Have the kernel end this worker when its master is gone: an orphan would keep the port."""
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != self.ppid:
            os._exit(1)  # it was killed before the kernel knew: no signal will come any more
        # Without a first heartbeat the master would wait for ever for a worker that hangs while it starts.
        allowed = time.monotonic() + (_START_TIMEOUTS - 1) * self.cfg.timeout
        os.utime(self.tmp.fileno(), (allowed, allowed))
        super().init_process()

    def init_signals(self) -> None:
        """End at once when told to, until connections are accepted: also in a call of the system that hangs.

        Nothing is under way yet, and an exception in the midst of an import may become another one, or none.
        """
        super().init_signals()
        for each in ENDING:
            signal.signal(each, lambda *_: os._exit(0))

    def say_it_answers(self) -> None:
        """Tell the master that connections are accepted; ``run`` calls it."""
        os.ftruncate(self.tmp.fileno(), 1)

    def run(self) -> None:
        """Serve until told to end, and end when what is under way is answered."""
        asyncio.run(self._serve())
        sys.exit(0)

    @abstractmethod
    def make_server(self) -> Server:
        """Return the server of this worker; called in its loop."""

    @abstractmethod
    def end_at_once(self, ends: asyncio.Event) -> None:
        """End at SIGINT and SIGQUIT."""

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        ends = asyncio.Event()
        loop.add_signal_handler(signal.SIGTERM, ends.set)
        for at_once in (signal.SIGQUIT, signal.SIGINT):
            loop.add_signal_handler(at_once, self.end_at_once, ends)
        server = self.make_server()
        server.start()
        self.say_it_answers()
        beats = loop.create_task(self._beat())
        await ends.wait()
        await server.stop(self.stop_seconds, self.lingering_seconds)
        self.wsgi.close()  # brings its records to disk
        beats.cancel()

    async def _beat(self) -> None:
        while True:
            self.notify()
            await asyncio.sleep(_HEARTBEAT_SECONDS)
