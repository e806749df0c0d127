"""gunicorn's worker of the data plane: one event loop and one server."""

import asyncio
import os
import signal
import sys

from gatewall.forwardauth import bodies
from gatewall.serving.answering import AnsweringWorker
from gatewall.serving.server import AtOnceServer

_HEARTBEAT_SECONDS = 1.0
_STOP_SECONDS = 10.0
"""For what is under way; a service manager waits longer (deploy/systemd)."""


class AuthWorker(AnsweringWorker):
    """Runs the data plane's server."""

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
        server = AtOnceServer(self.wsgi, [each.sock for each in self.sockets], bodies.bounds)
        server.start()
        self.say_it_answers()
        beats = loop.create_task(self._beat())
        await ends.wait()
        await server.stop(_STOP_SECONDS)
        self.wsgi.close()
        beats.cancel()

    async def _beat(self) -> None:
        while True:
            self.notify()
            await asyncio.sleep(_HEARTBEAT_SECONDS)
