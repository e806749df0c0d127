"""Worker life cycle on both planes: report readiness to the master, serve, drain, stop."""

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
"""Start timeout, in multiples of the worker timeout: reading a large policy takes longer than answering."""


class AnsweringWorker(Worker):  # type: ignore[misc] # gunicorn has no types
    """Worker base class. Heartbeat file: its mtime is the last heartbeat, length 1 means ready."""

    stop_seconds = 10.0
    """Drain timeout; a service manager's must be longer (deploy/systemd)."""
    lingering_seconds = LEAVING_SECONDS

    @property
    def is_ready(self) -> bool:
        """True once the worker accepts connections."""
        return os.fstat(self.tmp.fileno()).st_size > 0

    def init_process(self) -> None:
        """Start the worker, and have the kernel kill it when its master dies: an orphan would keep the port."""
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != self.ppid:
            os._exit(1)  # the master died before prctl: no signal will come any more
        # Without a first heartbeat the master would wait forever for a worker that hangs while it starts.
        allowed = time.monotonic() + (_START_TIMEOUTS - 1) * self.cfg.timeout
        os.utime(self.tmp.fileno(), (allowed, allowed))
        super().init_process()

    def init_signals(self) -> None:
        """Exit at once on a signal until connections are accepted, even during a system call that hangs.

        No request is under way yet, and an exception raised during an import could be swallowed or replaced.
        """
        super().init_signals()
        for each in ENDING:
            signal.signal(each, lambda *_: os._exit(0))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)  # the master blocked them before the fork

    def report_ready(self) -> None:
        """Report to the master that connections are accepted; ``run`` calls it."""
        os.ftruncate(self.tmp.fileno(), 1)

    def run(self) -> None:
        """Serve until a signal, drain, and exit."""
        asyncio.run(self._serve())
        sys.exit(0)

    @abstractmethod
    def make_server(self) -> Server:
        """Build the server of this worker; called inside its event loop."""

    def stop_background(self) -> None:
        """Stop background work; called before the last requests are answered."""

    @abstractmethod
    def end_at_once(self, ends: asyncio.Event) -> None:
        """Handle SIGINT and SIGQUIT."""

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        ends = asyncio.Event()
        loop.add_signal_handler(signal.SIGTERM, ends.set)
        for at_once in (signal.SIGQUIT, signal.SIGINT):
            loop.add_signal_handler(at_once, self.end_at_once, ends)
        server = self.make_server()
        server.start()
        self.report_ready()
        beats = loop.create_task(self._beat())
        await ends.wait()
        self.stop_background()
        await server.stop(self.stop_seconds, self.lingering_seconds)
        self.wsgi.close()  # flushes its records to disk
        beats.cancel()

    async def _beat(self) -> None:
        while True:
            self.notify()
            await asyncio.sleep(_HEARTBEAT_SECONDS)
