"""gunicorn's worker of the data plane: one event loop, one server, and a parent to die with."""

import asyncio
import ctypes
import os
import signal
import sys
import time

from gunicorn.workers.base import Worker

from gatewall.forwardauth.server import AuthServer

_PR_SET_PDEATHSIG = 1
_HEARTBEAT_SECONDS = 1.0
_STOP_SECONDS = 10.0
"""For what is under way; a service manager waits longer (deploy/systemd)."""
_START_TIMEOUTS = 6
"""How many timeouts a worker may take to start: a large policy takes longer to read than an answer to give."""


class AuthWorker(Worker):  # type: ignore[misc] # gunicorn has no types
    """Runs the data plane's server.

    Its heartbeat file is what the master knows of it: when it was touched last, and, by its length, whether the
    worker answers.
    """

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
        """End at once when told to, until connections are accepted: also in a call of the system that hangs."""
        super().init_signals()
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))

    def run(self) -> None:
        """Serve until told to end."""
        asyncio.run(self._serve())
        sys.exit(0)

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        ends = asyncio.Event()
        loop.add_signal_handler(signal.SIGTERM, ends.set)
        for at_once in (signal.SIGQUIT, signal.SIGINT):
            loop.add_signal_handler(at_once, os._exit, 0)  # what was answered is in the spool: nothing is left to do
        server = AuthServer(self.wsgi, [each.sock for each in self.sockets])
        server.start()
        os.ftruncate(self.tmp.fileno(), 1)
        beats = loop.create_task(self._beat())
        await ends.wait()
        await server.stop(_STOP_SECONDS)
        beats.cancel()

    async def _beat(self) -> None:
        while True:
            self.notify()
            await asyncio.sleep(_HEARTBEAT_SECONDS)
