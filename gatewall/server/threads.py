"""gunicorn worker of the control plane: one event loop and a pool of threads."""

import asyncio

from gatewall.server import threaded
from gatewall.server.answering import AnsweringWorker
from gatewall.server.server import Server
from gatewall.server.threaded import ThreadedServer


class ThreadsWorker(AnsweringWorker):
    """Worker that runs the control plane's server."""

    def make_server(self) -> Server:
        """Build the server; the application's ``bounds``, if any, set the limits of request bodies."""
        self.stop_seconds = max(1.0, self.cfg.graceful_timeout - 1.0)  # the master kills after the timeout
        bounds_of = getattr(self.wsgi, "bounds", threaded.bounds)
        listening = [each.sock for each in self.sockets]
        return ThreadedServer(self.wsgi, listening, bounds_of, threads=self.cfg.threads)

    def stop_background(self) -> None:
        """Stop the application's background work, if it has any."""
        getattr(self.wsgi, "stop_background", lambda: None)()

    def end_at_once(self, ends: asyncio.Event) -> None:
        """Stop as soon as the threads have answered."""
        self.lingering_seconds = 0.0
        ends.set()
