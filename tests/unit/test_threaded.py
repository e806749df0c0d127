"""Connections of a control plane worker while all its threads are busy, without sockets."""

import asyncio

import pytest

from gatewall.server import threaded
from gatewall.server.threaded import ThreadedServer
from tests.support.wire import a_request
from tests.unit.proxy_ends import ServerContext, Transport

MOST = 1000


class NoSocket:
    def setsockopt(self, *option):
        pass

    def getsockname(self):
        return "/run/a.sock"


class End(Transport):
    """The other end of a connection; it has no unsent data."""

    def set_write_buffer_limits(self, high=None, low=None):
        pass

    def get_extra_info(self, name, default=None):
        return NoSocket()

    def get_write_buffer_size(self):
        return 0


class Worker(ThreadedServer):
    """A server with all threads busy."""

    def run(self, exchange, environ, outlet):
        self.exchange = exchange

    def connect(self):
        connection, end = self._connect("192.0.2.1"), End()
        end.connection = connection
        connection.connection_made(end)
        return connection, end

    def feed(self, connection, data):
        connection.get_buffer(-1)[: len(data)] = data
        connection.buffer_updated(len(data))


class Failed:
    """The task of a thread whose application raised in ``close``."""

    def cancelled(self):
        return False

    def exception(self):
        return RuntimeError("in close()")


@pytest.fixture
def worker(monkeypatch):
    monkeypatch.setattr(asyncio, "get_running_loop", ServerContext)
    return Worker(None, [NoSocket()], threaded.bounds, threads=1, most_bytes=MOST)


def test_idle_connections_survive_when_waiting_requests_exceed_the_memory_bound(worker):
    _, idle = worker.connect()
    partly, part = worker.connect()
    worker.feed(partly, b"GET / HTTP/1.1\r\n")
    busy, waiting = worker.connect()
    worker.feed(busy, a_request(f"Content-Length: {MOST + 1}", method="POST", body=b"x" * (MOST + 1)))

    assert (waiting.sent, waiting.closed) == (b"", False)
    assert part.sent.startswith(b"HTTP/1.1 503 ")
    assert (idle.sent, idle.half_closed, idle.closed) == (b"", False, False)


def test_a_failure_after_an_answer_does_not_end_the_next_request(worker):
    connection, end = worker.connect()
    worker.feed(connection, a_request())
    first = worker.exchange
    connection.finish(b"one", keep_open=True)
    worker.feed(connection, a_request())
    assert worker.exchange is not first
    worker._ran(connection, first, Failed())

    assert (end.sent, end.half_closed, end.closed) == (b"one", False, False)
