"""Threaded WSGI server of the control plane: the event loop does the I/O, threads run the application.

head, body        read by the loop, within bounds and a deadline; only then a thread is used
large body        not read until the application, called with the head, has answered 100; then it is called again
response          a complete one goes to the loop and frees its thread; a streamed one buffers at most UNSENT
                  bytes, then its thread waits for the client
waiting threads   at most ``most_waiting``; if one more must wait, the longest-waiting connection is closed
memory            at most MOST_BYTES of unanswered input and unsent output; above it the largest holder is closed
"""

import asyncio
import logging
import math
import socket
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from operator import attrgetter
from typing import Protocol

from gatewall.kernel.request_bodies import MAX_BODY, MAX_LARGE_BODY
from gatewall.server import connection
from gatewall.server.answer_bytes import REFUSALS
from gatewall.server.connection import Connection
from gatewall.server.environ import environ_of
from gatewall.server.exchange import Environ, Exchange, WsgiApplication
from gatewall.server.http1 import BodyBounds, BoundsOf, Request, RequestReader
from gatewall.server.server import Server

logger = logging.getLogger(__name__)

MOST_CONNECTIONS = 1024
BODY_SECONDS, LARGE_BODY_SECONDS = 30.0, 120.0
WRITE_SECONDS = 60.0
"""How long a client may read nothing."""
UNSENT = 4 * 1024 * 1024
"""Larger than any static file: reading one slowly cannot hold a thread."""
MOST_BYTES = 128 * 1024 * 1024
_SEND_BUFFER = 256 * 1024
"""Kernel send buffer of each connection: by default it grows to megabytes, which hides progress for minutes."""
_SLOW_SECONDS = 5.0
"""A connection whose response is unread for this long may be evicted."""
_READ, _NOT_READ = BodyBounds(MAX_BODY + 1, BODY_SECONDS), BodyBounds(0, 0.0)
_WAITS = BodyBounds(MAX_LARGE_BODY + 1, LARGE_BODY_SECONDS, waits=True)


def bounds(_target: bytes, length: int | None) -> BodyBounds:
    """Return the read limits of a body: whole, on demand, or none if it is refused unread (chunked, or too long)."""
    if length is None or length > MAX_LARGE_BODY:
        return _NOT_READ
    return _READ if length <= MAX_BODY else _WAITS


class ThreadedContext(connection.Server, Protocol):
    """A server whose threads answer."""

    name: tuple[str, str]

    def run(self, exchange: Exchange, environ: Environ, outlet: "ThreadedConnection") -> None:
        """Answer on a thread."""

    def reader_blocked(self, outlet: "ThreadedConnection") -> None:
        """Record that a thread waits for the client."""

    def reader_unblocked(self, outlet: "ThreadedConnection") -> None:
        """Record that no thread waits for the client. Idempotent."""

    def update_weight(self, outlet: "ThreadedConnection") -> None:
        """Recount the memory that the connection holds."""


class ThreadedConnection(Connection):
    """A connection whose requests threads answer. Meanwhile no further request is read."""

    _context: ThreadedContext
    write_seconds = WRITE_SECONDS

    def __init__(self, context: ThreadedContext, loop: asyncio.AbstractEventLoop, peer: str) -> None:
        super().__init__(context, loop, peer)
        self._exchange: Exchange | None = None
        self._is_read = True
        self._body_size = self._written = self._taken = 0
        self._written_at = 0.0
        self.is_lost = False
        self.weight = 0
        """Bytes that the server has counted for this connection."""

    # Callbacks of the transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._transport.set_write_buffer_limits(high=UNSENT, low=UNSENT // 2)
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_lost = True
        super().connection_lost(exc)
        self._context.reader_unblocked(self)
        self._context.update_weight(self)
        if self._exchange is not None:
            self._exchange.room.set()

    def buffer_updated(self, nbytes: int) -> None:
        super().buffer_updated(nbytes)
        self._context.update_weight(self)

    def resume_writing(self) -> None:
        if self._exchange is None:
            super().resume_writing()
            return
        self._is_blocked = False
        self.deadline = math.inf
        self._context.reader_unblocked(self)
        self._exchange.room.set()

    # Called by the server.

    @property
    def is_evictable(self) -> bool:
        """True unless a thread is at work or the client is reading the response. A slow request can be evicted."""
        if self._exchange is not None:
            return False
        if self._transport.get_write_buffer_size():
            return self._loop.time() - self._written_at > _SLOW_SECONDS
        return self._turn is None

    def expire(self) -> None:
        """Handle the deadline; a client that has read part of the response since the last one gets more time."""
        now = self._loop.time()
        unsent = self._transport.get_write_buffer_size()
        if now < self.deadline or not unsent:
            super().expire()
        elif self._written - unsent > self._taken:
            self._taken = self._written - unsent
            self.deadline = now + self.write_seconds
        else:
            self._transport.abort()

    @property
    def size(self) -> int:
        """Bytes held in memory: unanswered input and unsent output."""
        return 0 if self.is_lost else self._reader.size + self._body_size + self._transport.get_write_buffer_size()

    def free_memory(self) -> None:
        """Free memory, unless a thread is at work: drop the unread response, or refuse the partial request (503)."""
        if self._exchange is not None and not self._is_blocked:
            return
        if self._transport.get_write_buffer_size() or self._is_ending:
            self._transport.abort()
            return
        self._reader.close()
        self._reader = RequestReader(self._context.bounds_of)
        self._refuse(503)

    # One request.

    def _answer(self, request: Request) -> None:
        body = request.body
        self._is_read = body is None or body.ended
        self._body_size = 0 if body is None else len(body.data)
        self._transport.pause_reading()
        self.deadline = math.inf
        is_new = self._reader.is_new
        keep_alive = request.keep_alive and not self._context.is_leaving
        self._exchange = Exchange(self, self._loop, method=request.method, is_new=is_new, keep_alive=keep_alive)
        environ = environ_of(request, peer=self._peer, is_new=is_new, server=self._context.name)
        self._context.run(self._exchange, environ, self)

    def write_piece(self, data: bytes) -> None:
        """Write a piece of the response. If the client reads slowly, the thread waits until ``resume_writing``."""
        exchange = self._exchange
        if self.is_lost or exchange is None:
            return
        self._write(data)
        if self._is_blocked:
            self._context.reader_blocked(self)
        else:
            exchange.room.set()

    def read_body(self) -> None:
        """Read the postponed body, and then answer the whole request."""
        self._exchange = None
        if not self.is_lost:
            self._reader.read_body()
            self._schedule_turn()

    def finish(self, data: bytes, *, keep_open: bool) -> None:
        """Write the last piece of the response."""
        self._exchange = None
        self._body_size = 0
        if self.is_lost:
            return
        self._write(data)
        self._answered(is_read=self._is_read, keep_open=keep_open and not self._context.is_leaving)

    def fail(self, exchange: Exchange) -> None:
        """Close a connection whose response failed: with 500, or in the middle of a started response.

        A failure after the complete response is ignored: the next request may be under way.
        """
        if self._exchange is not exchange or self.is_lost:
            return
        if exchange.has_begun:
            self._transport.abort()
        else:
            self.finish(REFUSALS[500], keep_open=False)

    def _write(self, data: bytes) -> None:
        self._written += len(data)
        self._written_at = self._loop.time()
        self._transport.write(data)
        self._context.update_weight(self)

    def _mark_end(self) -> None:
        super()._mark_end()
        if self._transport.get_write_buffer_size():
            self.deadline = self._loop.time() + self.write_seconds


class ThreadedServer(Server):
    """Connections of one worker, and its thread pool."""

    def __init__(
        self,
        application: WsgiApplication,
        listening: Sequence[socket.socket],
        bounds_of: BoundsOf,
        *,
        threads: int,
        most: int = MOST_CONNECTIONS,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        super().__init__(listening, bounds_of, most)
        self.name = _name_of(listening)
        self._application = application
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="answer")
        self._most_waiting = max(1, threads * 3 // 8)
        self._waiting: OrderedDict[ThreadedConnection, None] = OrderedDict()
        self._weight, self._most_bytes = 0, most_bytes

    async def stop(self, seconds: float, lingering: float = 0.0) -> None:
        await super().stop(seconds, lingering)
        for each in self._all():  # their threads must not wait for a client forever
            each.abort()
        await asyncio.sleep(0)
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _connect(self, peer: str) -> Connection:
        return ThreadedConnection(self, self._loop, peer)

    # Called by the connections.

    def run(self, exchange: Exchange, environ: Environ, outlet: ThreadedConnection) -> None:
        """Answer on a thread, as soon as one is free."""
        task = self._loop.run_in_executor(self._pool, exchange.run, self._application, environ, self.date)
        task.add_done_callback(partial(self._ran, outlet, exchange))

    def _ran(self, outlet: ThreadedConnection, exchange: Exchange, task: "asyncio.Future[None]") -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            logger.error("a request was not answered", exc_info=error)
            outlet.fail(exchange)

    def reader_blocked(self, outlet: ThreadedConnection) -> None:
        """Record that a thread waits for the client; if too many wait, close the longest-waiting connection."""
        self._waiting[outlet] = None
        if len(self._waiting) > self._most_waiting:
            longest, _ = self._waiting.popitem(last=False)
            longest.abort()

    def reader_unblocked(self, outlet: ThreadedConnection) -> None:
        """Record that no thread waits for the client. Idempotent."""
        self._waiting.pop(outlet, None)

    def update_weight(self, outlet: ThreadedConnection) -> None:
        """Recount the memory of the connection; above the limit, the largest holders free theirs."""
        self._count(outlet)
        if self._weight <= self._most_bytes:
            return
        held = [each for each in self._all() if isinstance(each, ThreadedConnection)]
        for each in held:  # output may have been sent meanwhile
            self._count(each)
        for each in sorted(held, key=attrgetter("weight"), reverse=True):
            if self._weight <= self._most_bytes or not each.weight:
                return
            each.free_memory()
            self._count(each)

    def _count(self, outlet: ThreadedConnection) -> None:
        before, outlet.weight = outlet.weight, outlet.size
        self._weight += outlet.weight - before


def _name_of(listening: Sequence[socket.socket]) -> tuple[str, str]:
    """Return the server's own name and port; a unix socket has neither."""
    address = listening[0].getsockname()
    return (address[0], str(address[1])) if isinstance(address, tuple) else ("localhost", "0")
