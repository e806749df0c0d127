"""Stream one WSGI response from its thread to the event loop.

A complete response is passed on at once, with its length; a longer one piece by piece: chunked, or until the
connection closes for HTTP/1.0. Between two pieces the thread waits until the connection has room (back-pressure).
"""

import asyncio
import re
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from threading import Event
from typing import Any, Protocol

from gatewall.kernel.request_bodies import BODY_WAITS
from gatewall.server.answer_bytes import Unsendable, head_bytes

Environ = dict[str, Any]
WsgiApplication = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]

PIECE = 65_536
"""Parts of a response are joined up to this many bytes."""
GATHER_SECONDS = 0.5
"""Joined parts of a slow response are sent after this time."""
_STATUS = re.compile("[1-9][0-9]{2} [\t -~\x80-\xff]*")
_WITHOUT_BODY = ("1", "204", "304")


class Gone(Exception):
    """The connection closed while its response was being made."""


class Outlet(Protocol):
    """The connection, as an exchange uses it; call both methods on the event loop."""

    is_lost: bool

    def write_piece(self, data: bytes) -> None:
        """Write a piece; set ``room`` of the exchange once another fits or the connection is lost."""

    def read_body(self) -> None:
        """Read the postponed body; another exchange then answers the request."""

    def finish(self, data: bytes, *, keep_open: bool) -> None:
        """Write the last piece."""


class Exchange:
    """One request that a thread answers."""

    def __init__(
        self, outlet: Outlet, loop: asyncio.AbstractEventLoop, *, method: bytes, is_new: bool, keep_alive: bool
    ) -> None:
        self._outlet = outlet
        self._loop = loop
        self._is_head = method == b"HEAD"
        self._is_new = is_new
        self._keep_alive = keep_alive
        self._date = ""
        self._status = ""
        self._headers: Sequence[tuple[str, str]] = ()
        self._gathered = bytearray()
        self._declared: int | None = None
        self._sent = 0
        self._has_body = self._is_chunked = False
        self.has_begun = False
        self.room = Event()

    # On the thread.

    def run(self, application: WsgiApplication, environ: Environ, date: str) -> None:
        """Run the application and send its response. Raises exceptions of the application, but not Gone."""
        if self._outlet.is_lost:
            return
        self._date = date
        with suppress(Gone):
            parts = application(environ, self._start_response)
            try:
                if environ.get(BODY_WAITS) and self._status.startswith("100 "):
                    self._call(self._outlet.read_body)
                else:
                    self._send_all(parts)
            finally:
                close = getattr(parts, "close", None)
                if close is not None:
                    close()

    def _start_response(
        self, status: str, headers: Sequence[tuple[str, str]], exc_info: Any = None
    ) -> Callable[[bytes], None]:
        if exc_info is not None and self.has_begun:
            raise exc_info[1]
        self._status = status
        self._headers = [(name, value.strip(" \t")) for name, value in headers]  # Django begins cookies with a space
        return self._gathered.extend

    def _send_all(self, parts: Iterable[bytes]) -> None:
        gathered, since = self._gathered, time.monotonic()
        for part in parts:
            is_due = len(gathered) + len(part) > PIECE or time.monotonic() - since > GATHER_SECONDS
            if gathered and is_due:
                self._send(bytes(gathered))
                gathered.clear()
                since = time.monotonic()
                if self._is_head:
                    break
            gathered += part
        last = (b"" if self.has_begun else self._head(len(gathered))) + self._framed(bytes(gathered))
        if self._is_chunked:
            last += b"0\r\n\r\n"
        is_whole = not self._has_body or self._declared in {None, self._sent}
        self._call(lambda: self._outlet.finish(last, keep_open=self._keep_alive and is_whole))

    def _send(self, piece: bytes) -> None:
        """Send a piece and wait until there is room for another. Raises Gone."""
        data = (b"" if self.has_begun else self._head(None)) + self._framed(piece)
        self.room.clear()
        if not self._outlet.is_lost:  # a lost connection never sets ``room`` again
            self._call(lambda: self._outlet.write_piece(data))
            self.room.wait()
        if self._outlet.is_lost:
            raise Gone

    def _call(self, call: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(call)
        except RuntimeError as error:  # the loop has ended, and its connections with it
            raise Gone from error

    # Framing.

    def _head(self, length: int | None) -> bytes:
        """Return the response head; ``length`` of the body, None if unknown yet. Raises Unsendable."""
        if not _STATUS.fullmatch(self._status):
            raise Unsendable
        self._has_body = not (self._is_head or self._status.startswith(_WITHOUT_BODY))
        declared = [value for name, value in self._headers if name.lower() == "content-length"]
        if declared:
            if len(declared) > 1 or not (declared[0].isascii() and declared[0].isdigit()):
                raise Unsendable
            self._declared = int(declared[0])
        own = self._date
        if not declared and length is not None and (self._has_body or self._is_head):
            own += f"content-length: {length}\n"
        elif not declared and self._has_body and self._is_new:
            self._is_chunked = True
            own += "transfer-encoding: chunked\n"
        elif not declared and self._has_body:
            self._keep_alive = False
        if not self._keep_alive:
            own += "connection: close\n"
        head = head_bytes(f"HTTP/1.1 {self._status}\n", self._headers, own)
        self.has_begun = True
        return head

    def _framed(self, piece: bytes) -> bytes:
        if not self._has_body or not piece:
            return b""
        if self._declared is not None:
            piece = piece[: self._declared - self._sent]
        self._sent += len(piece)
        return b"%x\r\n%b\r\n" % (len(piece), piece) if self._is_chunked else piece
