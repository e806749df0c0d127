"""Threaded server of the control plane: the loop reads and writes, threads run the WSGI application.

head, body        read by the loop, within bounds and a deadline; only then a thread is taken
answer            a whole one goes to the loop, and its thread is free; of one in pieces at most UNSENT bytes
wait for the reader, then its thread does
threads waiting   for slow readers: at most some (``most_waiting``); if one more must, the one that waits longest ends
memory            MOST_BYTES for what was read and what was not sent; above it the connection that holds most goes
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

from gatewall.server import connection
from gatewall.server.answer_bytes import REFUSALS
from gatewall.server.connection import Connection
from gatewall.server.environ import environ_of
from gatewall.server.exchange import Environ, Exchange, WsgiApplication
from gatewall.server.http1 import BodyBounds, BoundsOf, Request, RequestReader
from gatewall.server.server import Server

logger = logging.getLogger(__name__)

MOST_CONNECTIONS = 1024
MAX_BODY = 1024 * 1024
BODY_SECONDS = 30.0
WRITE_SECONDS = 60.0
"""How long a reader may take nothing."""
UNSENT = 4 * 1024 * 1024
"""More than any static file: reading one slowly cannot hold a thread."""
MOST_BYTES = 128 * 1024 * 1024
_SEND_BUFFER = 256 * 1024
"""Of the kernel, for each connection: its own grows to megabytes, whose progress nobody sees for minutes."""
_SLOW_SECONDS = 5.0
"""Whose answer is unread for so long makes room for another."""
_READ, _NOT_READ = BodyBounds(MAX_BODY + 1, BODY_SECONDS), BodyBounds(0, 0.0)


def bounds(_target: bytes, length: int | None) -> BodyBounds:
    """Return how a body is read: whole, or not at all where it is refused by its head (in chunks, or too long)."""
    return _NOT_READ if length is None or length > MAX_BODY else _READ


class Threads(connection.Server, Protocol):
    """A server whose threads answer."""

    name: tuple[str, str]

    def run(self, exchange: Exchange, environ: Environ, outlet: "ThreadedConnection") -> None:
        """Have a thread answer."""

    def waits(self, outlet: "ThreadedConnection") -> None:
        """Know that a thread waits for the reader."""

    def waits_no_more(self, outlet: "ThreadedConnection") -> None:
        """Know that it does not, or that there is no such thread."""

    def weigh(self, outlet: "ThreadedConnection") -> None:
        """Know that the connection may hold more or less than before."""


class ThreadedConnection(Connection):
    """A connection whose requests threads answer. While one does, nothing more is read."""

    _context: Threads
    write_seconds = WRITE_SECONDS

    def __init__(self, context: Threads, loop: asyncio.AbstractEventLoop, peer: str) -> None:
        super().__init__(context, loop, peer)
        self._exchange: Exchange | None = None
        self._is_read = True
        self._body_size = self._written = self._taken = 0
        self._written_at = 0.0
        self.is_lost = False
        self.weight = 0
        """What the server has counted for it."""

    # What the transport says.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._transport.set_write_buffer_limits(high=UNSENT, low=UNSENT // 2)
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_lost = True
        super().connection_lost(exc)
        self._context.waits_no_more(self)
        self._context.weigh(self)
        if self._exchange is not None:
            self._exchange.room.set()

    def buffer_updated(self, nbytes: int) -> None:
        super().buffer_updated(nbytes)
        self._context.weigh(self)

    def resume_writing(self) -> None:
        if self._exchange is None:
            super().resume_writing()
            return
        self._is_blocked = False
        self.deadline = math.inf
        self._context.waits_no_more(self)
        self._exchange.room.set()

    # What the server asks.

    @property
    def may_go(self) -> bool:
        """True unless a thread answers, or an answer is being read at some pace. A slow request may go."""
        if self._exchange is not None:
            return False
        if self._transport.get_write_buffer_size():
            return self._loop.time() - self._written_at > _SLOW_SECONDS
        return self._turn is None

    def expire(self) -> None:
        """Do what is due at the deadline; who has read some of an answer since the last one gets more time."""
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
        """Bytes that are held for it in memory: read and not answered, or not sent."""
        return 0 if self.is_lost else self._reader.size + self._body_size + self._transport.get_write_buffer_size()

    def shed(self) -> None:
        """Give back what is held, unless a thread is at work: an answer that is not read, or half a request (503)."""
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

    def pass_on(self, data: bytes) -> None:
        """Write a piece of the answer. If the reader is behind, its thread waits until ``resume_writing``."""
        exchange = self._exchange
        if self.is_lost or exchange is None:
            return
        self._write(data)
        if self._is_blocked:
            self._context.waits(self)
        else:
            exchange.room.set()

    def finish(self, data: bytes, *, stays: bool) -> None:
        """Write the last piece of the answer."""
        self._exchange = None
        self._body_size = 0
        if self.is_lost:
            return
        self._write(data)
        self._answered(is_read=self._is_read, stays=stays and not self._context.is_leaving)

    def fail(self, exchange: Exchange) -> None:
        """End a connection whose answer could not be made: with 500, or amid what was sent.

        What failed behind a whole answer concerns nobody: the next request may be under way.
        """
        if self._exchange is not exchange or self.is_lost:
            return
        if exchange.has_begun:
            self._transport.abort()
        else:
            self.finish(REFUSALS[500], stays=False)

    def _write(self, data: bytes) -> None:
        self._written += len(data)
        self._written_at = self._loop.time()
        self._transport.write(data)
        self._context.weigh(self)

    def _mark_end(self) -> None:
        super()._mark_end()
        if self._transport.get_write_buffer_size():
            self.deadline = self._loop.time() + self.write_seconds


class ThreadedServer(Server):
    """The connections of one worker, and the threads that answer."""

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
        for each in self._all():  # their threads must not wait for a reader for ever
            each.give_up()
        await asyncio.sleep(0)
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _connect(self, peer: str) -> Connection:
        return ThreadedConnection(self, self._loop, peer)

    # What the connections say.

    def run(self, exchange: Exchange, environ: Environ, outlet: ThreadedConnection) -> None:
        """Have a thread answer, as soon as one is free."""
        task = self._loop.run_in_executor(self._pool, exchange.run, self._application, environ, self.date)
        task.add_done_callback(partial(self._ran, outlet, exchange))

    def _ran(self, outlet: ThreadedConnection, exchange: Exchange, task: "asyncio.Future[None]") -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            logger.error("a request was not answered", exc_info=error)
            outlet.fail(exchange)

    def waits(self, outlet: ThreadedConnection) -> None:
        """Know that a thread waits for the reader; if too many do, the reader that is behind for longest goes."""
        self._waiting[outlet] = None
        if len(self._waiting) > self._most_waiting:
            longest, _ = self._waiting.popitem(last=False)
            longest.give_up()

    def waits_no_more(self, outlet: ThreadedConnection) -> None:
        """Know that it does not, or that there is no such thread."""
        self._waiting.pop(outlet, None)

    def weigh(self, outlet: ThreadedConnection) -> None:
        """Count what the connection holds now; if all hold too much, those that hold most give it back."""
        self._count(outlet)
        if self._weight <= self._most_bytes:
            return
        held = [each for each in self._all() if isinstance(each, ThreadedConnection)]
        for each in held:  # what was sent meanwhile
            self._count(each)
        for each in sorted(held, key=attrgetter("weight"), reverse=True):
            if self._weight <= self._most_bytes or not each.weight:  # who holds nothing has nothing to give back
                return
            each.shed()
            self._count(each)

    def _count(self, outlet: ThreadedConnection) -> None:
        before, outlet.weight = outlet.weight, outlet.size
        self._weight += outlet.weight - before


def _name_of(listening: Sequence[socket.socket]) -> tuple[str, str]:
    """Return name and port that the server has for itself; a unix socket has none."""
    address = listening[0].getsockname()
    return (address[0], str(address[1])) if isinstance(address, tuple) else ("localhost", "0")
