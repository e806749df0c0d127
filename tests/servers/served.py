"""The control plane's server in this process, over real sockets, with an application of a test."""

import asyncio
import socket
import threading
from contextlib import contextmanager
from typing import Any

from gatewall.server import threaded
from gatewall.server.threaded import ThreadedServer
from tests.support.processes import PATIENCE

THREADS = 8


class Served:
    """A server in a thread of its own; ``ask`` inspects it from within its loop."""

    def __init__(self, application, **options):
        self._application, self._options = application, {"threads": THREADS, **options}
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=512)
        self._listening.setblocking(False)
        self.port = self._listening.getsockname()[1]
        self._ready = threading.Event()
        self._ends: Any = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)
        self.seconds = 5.0

    async def _run(self):
        self._loop, self._ends = asyncio.get_running_loop(), asyncio.Event()
        self.server = ThreadedServer(self._application, [self._listening], threaded.bounds, **self._options)
        self.server.start()
        self._ready.set()
        await self._ends.wait()
        await self.server.stop(self.seconds)

    def ask(self, question):
        """Call a function with the server in its loop; return the result."""

        async def asked():
            return question(self.server)

        return asyncio.run_coroutine_threadsafe(asked(), self._loop).result(PATIENCE)

    def connections(self):
        return self.ask(lambda server: len(server._all()))

    def waiting(self):
        """Return the number of threads that wait for a reader."""
        return self.ask(lambda server: len(server._waiting))

    def held(self):
        """Return the number of bytes buffered by connections."""
        return self.ask(lambda server: sum(each.size for each in server._all()))

    def begin_to_stop(self, seconds):
        self.seconds = seconds
        self._loop.call_soon_threadsafe(self._ends.set)

    def start(self):
        self._thread.start()
        assert self._ready.wait(PATIENCE)

    def stop(self):
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._ends.set)
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


@contextmanager
def served(application, **options):
    """Run a server with this application during the block."""
    running = Served(application, **options)
    running.start()
    try:
        yield running
    finally:
        running.stop()
