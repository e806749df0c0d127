"""gunicorn worker of the data plane: one event loop and one server."""

import asyncio
import os
from functools import partial

from gatewall.gate import bodies
from gatewall.server.answering import AnsweringWorker
from gatewall.server.server import AtOnceServer, Server


class AuthWorker(AnsweringWorker):
    """Worker that runs the data plane's server."""

    def make_server(self) -> Server:
        # A timer runs after pending input, so other answers come first.
        self.wsgi.work_after_answers(partial(asyncio.get_running_loop().call_later, 0))
        server = AtOnceServer(self.wsgi, [each.sock for each in self.sockets], bodies.bounds)
        server.heads.forget_regularly(self.wsgi.report_heads)
        return server

    def end_at_once(self, ends: asyncio.Event) -> None:
        """Exit now: all records are in the spool."""
        os._exit(0)
