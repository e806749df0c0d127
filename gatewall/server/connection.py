"""One HTTP/1.1 connection from a proxy: read requests, dispatch them, write one response each.

    idle             at most IDLE_SECONDS; the head must be complete HEAD_SECONDS after its first byte
    reading a body   at most as long as its bounds allow; then it is cut and answered, or refused (408)
    writing          at most WRITE_SECONDS while the proxy reads nothing; meanwhile no request is read
    lingering close  further input is discarded, at most LINGER_SECONDS and LINGER_BYTES

Each pipelined request is answered in its own turn of the loop, so that one connection cannot starve the others.
If a request was not read to its end, the connection closes after the response and the rest is never parsed:
no request gets two responses.
"""

import asyncio
import logging
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Protocol

from gatewall.server.answer_bytes import CONTINUE, REFUSALS, Answer, Unsendable, answer_bytes
from gatewall.server.heads import Head, Heads, RememberingReader
from gatewall.server.http1 import Body, BoundsOf, Line, Phase, Refusal, Request, RequestReader

logger = logging.getLogger(__name__)

HEAD_SECONDS = 10.0
IDLE_SECONDS = 150.0
"""Longer than proxies keep their idle connections, so that they close first: nginx 60 s, Traefik 90 s, Caddy 120 s."""
WRITE_SECONDS = 10.0
LINGER_SECONDS = 5.0
LINGER_BYTES = 64 * 1024 * 1024

Application = Callable[[str, bytes, Sequence[Line], str, str, Body | None, Head | None], Answer]
"""(method, raw target, raw header lines, peer ("" for a unix socket), scheme, body, known head) -> Answer."""


class Server(Protocol):
    """State and callbacks shared by the connections of one server."""

    bounds_of: BoundsOf
    date: str
    is_leaving: bool
    buffer: memoryview
    """Read buffer, valid until the next read: copy out of it."""

    def opened(self, connection: "Connection") -> None:
        """Register a new connection."""

    def answered(self, connection: "Connection") -> None:
        """Record that the connection just answered a request."""

    def ended(self, connection: "Connection") -> None:
        """Record that the connection is closing: first to be evicted."""

    def closed(self, connection: "Connection") -> None:
        """Remove a closed connection."""


class ServerContext(Server, Protocol):
    """A server whose application answers synchronously."""

    application: Application
    heads: Heads


class Connection(asyncio.BufferedProtocol):
    """HTTP/1.1 connection with one proxy, whose address is ``peer`` ("" for a unix socket).

    ``peer`` comes from ``accept()``: after a reset the socket has no address, and a peer without one is trusted.
    """

    idle_seconds = IDLE_SECONDS
    write_seconds = WRITE_SECONDS

    def __init__(self, context: Server, loop: asyncio.AbstractEventLoop, peer: str) -> None:
        self._context = context
        self._loop = loop
        self._reader = RequestReader(context.bounds_of)
        self._transport: asyncio.Transport
        self._peer = peer
        self._phase = Phase.IDLE
        self._turn: asyncio.Handle | None = None
        self._is_blocked = self._is_ending = self._is_half_closed = False
        self._discarded = 0
        self.deadline = loop.time() + self.idle_seconds

    # Callbacks of the transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - a stream has both ends
        self._transport = transport
        self._context.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_ending = True
        if self._turn is not None:
            self._turn.cancel()
        self._reader.close()
        self._context.closed(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._context.buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self._is_ending:
            self._discard(nbytes)
            return
        self._reader.feed(bytes(self._context.buffer[:nbytes]))
        if self._turn is None and not self._is_blocked:
            self._advance()

    def eof_received(self) -> bool:
        """Keep the connection open while a response is pending or being written."""
        self._is_half_closed = True
        return not self._is_ending and (self._turn is not None or self._is_blocked)

    def pause_writing(self) -> None:
        self._is_blocked = True
        self.deadline = self._loop.time() + self.write_seconds
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._is_blocked = False
        if not self._is_ending:
            self.deadline = self._loop.time() + self._allowed()
            self._schedule_turn()

    # Called by the server.

    @property
    def is_evictable(self) -> bool:
        """True if the connection can be evicted: no request is under way, and no response is half written."""
        is_free = self._phase is not Phase.BODY and self._turn is None and not self._is_blocked
        return is_free or self._is_ending

    @property
    def is_idle(self) -> bool:
        """True if no byte has come since the last response."""
        return self.is_evictable and (self._phase is Phase.IDLE or self._is_ending)

    def close(self) -> None:
        """Close gracefully: bytes already written are still sent."""
        self._mark_end()
        self._transport.close()

    def evict(self) -> None:
        """Close to make room for another connection."""
        if self._is_ending:
            self._transport.abort()
        else:
            self.close()

    def abort(self) -> None:
        """Close at once; unsent bytes are lost."""
        self._transport.abort()

    def expire(self) -> None:
        """Handle the deadline if it has passed: cut the body, refuse (408) or close."""
        if self._loop.time() < self.deadline:
            return
        if self._is_ending or self._is_blocked:
            self._transport.abort()
        elif self._phase is Phase.BODY and self._reader.bounds.may_be_cut:
            self._answer(self._reader.cut())
        elif self._phase is not Phase.IDLE:
            self._refuse(408)
        else:
            self.close()

    # One request.

    def _allowed(self) -> float:
        """Return the time limit of the current phase in seconds."""
        if self._phase is Phase.BODY:
            return self._reader.bounds.seconds
        return HEAD_SECONDS if self._phase is Phase.HEAD else self.idle_seconds

    def _advance(self) -> None:
        self._turn = None
        if self._is_blocked or self._is_ending:
            return
        parsed = self._reader.next()
        if parsed is None:
            self._wait()
        elif isinstance(parsed, Refusal):
            self._refuse(parsed.status)
        else:
            self._answer(parsed)

    def _wait(self) -> None:
        """Read on until the request is complete."""
        if self._is_half_closed:
            self.close()
            return
        if self._reader.wants_continue:
            self._reader.wants_continue = False
            self._transport.write(CONTINUE)
        if self._phase is not self._reader.phase:
            self._phase = self._reader.phase
            self.deadline = self._loop.time() + self._allowed()
        if not self._is_blocked:  # by writing the 100
            self._transport.resume_reading()

    @abstractmethod
    def _answer(self, request: Request) -> None:
        """Start answering the request; the implementation calls ``_answered`` afterwards."""

    def _answered(self, *, is_read: bool, keep_open: bool) -> None:
        """Continue after a response; ``is_read`` if the request was read to its end."""
        self._phase = Phase.IDLE
        self._context.answered(self)
        if not keep_open:
            self._end(is_read=is_read)
        elif not self._is_blocked:
            self.deadline = self._loop.time() + self.idle_seconds
            if self._reader.has_more or self._is_half_closed:
                self._schedule_turn()
            else:
                self._transport.resume_reading()

    def _refuse(self, status: int) -> None:
        self._transport.write(REFUSALS[status])
        self._end(is_read=False)

    def _schedule_turn(self) -> None:
        """Parse the next pipelined request after the other connections have had their turn."""
        self._transport.pause_reading()
        if self._turn is None:
            self._turn = self._loop.call_soon(self._advance)

    # Close.

    def _end(self, *, is_read: bool) -> None:
        """Close the connection after the response (lingering close).

        Closing with unread input makes the kernel send a reset, which can destroy the response on its way. So
        further input is read and discarded until the proxy closes.
        """
        if is_read and not self._reader.has_more:
            self.close()
            return
        self._mark_end()
        if self._is_half_closed:
            self._transport.close()
            return
        self._transport.write_eof()
        self._transport.resume_reading()

    def _mark_end(self) -> None:
        self._is_ending = True
        self.deadline = self._loop.time() + LINGER_SECONDS
        self._context.ended(self)

    def _discard(self, number: int) -> None:
        self._discarded += number
        if self._discarded > LINGER_BYTES:
            self._transport.abort()


class AtOnceConnection(Connection):
    """Connection whose application answers synchronously, in the same turn of the loop."""

    def __init__(self, context: ServerContext, loop: asyncio.AbstractEventLoop, peer: str) -> None:
        super().__init__(context, loop, peer)
        self._application = context.application
        self._reader = RememberingReader(context.bounds_of, context.heads, peer)

    def _answer(self, request: Request) -> None:
        method, target, lines, body, keep_alive, head = request
        context = self._context
        keep_alive = keep_alive and not context.is_leaving
        sent, keep_open = REFUSALS[503], False
        try:
            answer = self._application(method.decode("latin-1"), target, lines, self._peer, "http", body, head)
            sent = answer_bytes(answer, context.date, shows_body=method != b"HEAD", keep_alive=keep_alive)
            keep_open = keep_alive
        except Unsendable:
            logger.exception("an answer could not be sent")
        finally:  # also if the application raised: the proxy waits, and the loop logs the exception
            self._transport.write(sent)
            self._answered(is_read=body is None or body.ended, keep_open=keep_open)
