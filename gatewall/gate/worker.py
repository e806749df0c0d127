"""gunicorn worker of the data plane: one event loop and one server."""

import asyncio
import os

from gatewall.gate import bodies
from gatewall.server.answering import AnsweringWorker
from gatewall.server.server import AtOnceServer, Server


class AuthWorker(AnsweringWorker):
    """Runs the data plane's server."""

    def make_server(self) -> Server:
        return AtOnceServer(self.wsgi, [each.sock for each in self.sockets], bodies.bounds)

    def end_at_once(self, ends: asyncio.Event) -> None:
        """End now: what was answered is in the spool, and nothing is left to do."""
        os._exit(0)
