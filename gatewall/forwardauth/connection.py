"""One connection of a proxy: reads requests, calls the application, writes one answer for each.

    waits for a request   at most IDLE_SECONDS; the head must be whole HEAD_SECONDS after its first byte
    reads a body          at most bodies.SECONDS, then what is there is answered
    writes                at most WRITE_SECONDS while the other end reads nothing; until then nothing more is read
    ends                  what still comes is thrown away, at most LINGER_SECONDS and LINGER_BYTES

A request that came with more behind it is answered in one turn of the loop, the next in another, so that
one connection cannot keep the worker from the others. Where the message behind an answer was not read to its
end the connection ends, and nothing of it is ever parsed again: there is no second answer to one request.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from gatewall.forwardauth import bodies
from gatewall.forwardauth.answer_bytes import CONTINUE, REFUSALS, Unsendable, answer_bytes
from gatewall.forwardauth.http1 import Body, Line, Phase, Refusal, Request, RequestReader
from gatewall.forwardauth.responses import Answer

logger = logging.getLogger(__name__)

HEAD_SECONDS = 10.0
IDLE_SECONDS = 150.0
"""Longer than proxies keep their idle connections, so that they close first: nginx 60 s, Traefik 90 s, Caddy 120 s."""
WRITE_SECONDS = 10.0
LINGER_SECONDS = 5.0
LINGER_BYTES = 64 * 1024 * 1024
_WITHIN = {Phase.IDLE: IDLE_SECONDS, Phase.HEAD: HEAD_SECONDS, Phase.BODY: bodies.SECONDS}

Application = Callable[[str, bytes, list[Line], str, str, Body | None], Answer]
"""Method, raw target, raw header lines, peer ("" for a unix socket), scheme and body to an answer."""


class House(Protocol):
    """What connections of one server share."""

    application: Application
    date: str
    is_leaving: bool
    buffer: memoryview
    """What comes is read into this, and copied out of it before the next is."""

    def opened(self, connection: "Connection") -> None:
        """Know the connection."""

    def answered(self, connection: "Connection") -> None:
        """Know that it was of use just now."""

    def ended(self, connection: "Connection") -> None:
        """Know that it is of no use any more."""

    def closed(self, connection: "Connection") -> None:
        """Forget it."""


class Connection(asyncio.BufferedProtocol):
    """Speaks HTTP/1.1 with one proxy, whose address is ``peer`` ("" for a unix socket).

    The address is the one that came with the connection. Asked of the socket there is none after a reset, and
    whoever has none is trusted.
    """

    def __init__(self, house: House, loop: asyncio.AbstractEventLoop, peer: str) -> None:
        self._house = house
        self._loop = loop
        self._reader = RequestReader()
        self._transport: asyncio.Transport
        self._peer = peer
        self._phase = Phase.IDLE
        self._turn: asyncio.Handle | None = None
        self._is_blocked = self._is_ending = self._is_half_closed = False
        self._thrown_away = 0
        self.deadline = loop.time() + IDLE_SECONDS

    # What the transport says.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - a stream has both ends
        self._transport = transport
        self._house.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_ending = True
        if self._turn is not None:
            self._turn.cancel()
        self._reader.close()
        self._house.closed(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._house.buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self._is_ending:
            self._throw_away(nbytes)
            return
        self._reader.feed(bytes(self._house.buffer[:nbytes]))
        if self._turn is None and not self._is_blocked:
            self._advance()

    def eof_received(self) -> bool:
        """Keep the connection for what is still to be answered or written."""
        self._is_half_closed = True
        return not self._is_ending and (self._turn is not None or self._is_blocked)

    def pause_writing(self) -> None:
        self._is_blocked = True
        self.deadline = self._loop.time() + WRITE_SECONDS
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._is_blocked = False
        if not self._is_ending:
            self.deadline = self._loop.time() + _WITHIN[self._phase]
            self._take_turn()

    # What the house asks.

    @property
    def may_go(self) -> bool:
        """True if no request is under way, and nothing is half written."""
        is_free = self._phase is not Phase.BODY and self._turn is None and not self._is_blocked
        return is_free or self._is_ending

    @property
    def is_idle(self) -> bool:
        """True if nothing has come since the last answer."""
        return self.may_go and (self._phase is Phase.IDLE or self._is_ending)

    def leave(self) -> None:
        """Close; what was written still goes out."""
        self._mark_end()
        self._transport.close()

    def go(self) -> None:
        """Make room for another."""
        if self._is_ending:
            self._transport.abort()
        else:
            self.leave()

    def expire(self) -> None:
        """Do what is due at the deadline, if it is over."""
        if self._loop.time() < self.deadline:
            return
        if self._is_ending or self._is_blocked:
            self._transport.abort()
        elif self._phase is Phase.BODY:
            self._answer(self._reader.cut())
        elif self._phase is Phase.HEAD:
            self._refuse(408)
        else:
            self.leave()

    # One request.

    def _advance(self) -> None:
        self._turn = None
        if self._is_blocked or self._is_ending:
            return
        found = self._reader.next()
        if found is None:
            self._wait()
        elif isinstance(found, Refusal):
            self._refuse(found.status)
        else:
            self._answer(found)

    def _wait(self) -> None:
        """Read on, until the request is whole."""
        if self._is_half_closed:
            self.leave()
            return
        if self._reader.wants_continue:
            self._reader.wants_continue = False
            self._transport.write(CONTINUE)
        if self._phase is not self._reader.phase:
            self._phase = self._reader.phase
            self.deadline = self._loop.time() + _WITHIN[self._phase]
        if not self._is_blocked:  # by the 100 itself
            self._transport.resume_reading()

    def _answer(self, request: Request) -> None:
        method, target, lines, body, keep_alive = request
        house = self._house
        keep_alive = keep_alive and not house.is_leaving
        sent, stays = REFUSALS[503], False
        try:
            answer = house.application(method.decode("latin-1"), target, lines, self._peer, "http", body)
            sent = answer_bytes(answer, house.date, shows_body=method != b"HEAD", keep_alive=keep_alive)
            stays = keep_alive
        except Unsendable:
            logger.exception("an answer could not be sent")
        finally:  # also where the application failed: the proxy waits, and the loop tells the log why
            self._transport.write(sent)
            self._phase = Phase.IDLE
            house.answered(self)
            if not stays:
                self._end(is_read=body is None or body.ended)
        if stays and not self._is_blocked:
            self.deadline = self._loop.time() + IDLE_SECONDS
            if self._reader.has_more or self._is_half_closed:
                self._take_turn()
            else:
                self._transport.resume_reading()

    def _refuse(self, status: int) -> None:
        self._transport.write(REFUSALS[status])
        self._end(is_read=False)

    def _take_turn(self) -> None:
        """Look at what stands behind the last request when the others have had their turn."""
        self._transport.pause_reading()
        if self._turn is None:
            self._turn = self._loop.call_soon(self._advance)

    # The end.

    def _end(self, *, is_read: bool) -> None:
        """End the connection behind the answer.

        Bytes that nobody has read make the kernel answer with a reset, and the proxy might lose the
        answer by it. So where more may come it is read and thrown away, until the other end closes.
        """
        if is_read and not self._reader.has_more:
            self.leave()
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
        self._house.ended(self)

    def _throw_away(self, number: int) -> None:
        self._thrown_away += number
        if self._thrown_away > LINGER_BYTES:
            self._transport.abort()
