"""HTTP/1.1 request parser for one connection, one request at a time. No I/O.

The request line is read here and by nobody else: it has one form. What frames the message, headers and body, llhttp
reads (httptools), strictly. Of what two readers could understand differently nothing is read: it is refused, and the
connection ends with it.

    head whole, no body     Request
    body whole              Request
    body over the bound     Request whose body has not ended, and which ends the connection; so where none is read
    chunked body whole      Request that ends the connection: nothing behind chunks is taken for a request
    malformed, or too long  Refusal: 400, 414, 417 or 431
    anything less           None: more has to come
"""

import re
from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

import httptools

Line = tuple[bytes, bytes]

MAX_REQUEST_LINE = 17_408
"""The longest URI that is looked at, with the prefix of an endpoint, a method and a version."""
MAX_FIELD = 32_768
"""One header line, as with what a proxy adds: nginx takes lines of 8 KiB and sends a URI of that length in a header."""
MAX_FIELDS = 200
MAX_HEAD = 131_072
"""All of them; a visitor's headers and what the proxy adds have passed the proxy's own bound."""
_CHUNKS_COST = 16
"""Bytes on the wire for each byte of a chunked body: a chunk of one costs six, an extension what it likes."""
_CHUNKS_FREE = 1024

_CHUNKS_AT_ONCE = 65_537
_MAX_DIGITS = 20
"""Those of 64 bits. llhttp takes any number of zeros in front, int() only some thousands."""

_END = b"\r\n\r\n"
_REQUEST_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([!-~\x80-\xff]+) HTTP/1\.([01])\r\n")
_STARTS = (b"POST / HTTP/1.0\r\n", b"POST / HTTP/1.1\r\n")
"""What llhttp gets for a request line: its methods are a list, and CONNECT would take it out of HTTP."""
_BROKEN_LINE = re.compile(rb"(?<!\r)\n|\r(?![\n]|\Z)|\0")


class Phase(Enum):
    """How much of a request there is."""

    IDLE = "idle"
    HEAD = "head"
    BODY = "body"


class Body(NamedTuple):
    """What was read of a body; ``ended`` if nothing stands behind."""

    data: bytes
    ended: bool


class Request(NamedTuple):
    """A request as it was on the wire: nothing is decoded, folded or put in order."""

    method: bytes
    target: bytes
    lines: list[Line]
    body: Body | None
    keep_alive: bool


class BodyBounds(NamedTuple):
    """How a body is read: at most ``most`` bytes (0: not at all) within ``seconds``.

    A body that is late is cut and answered if ``may_be_cut``, and refused (408) otherwise.
    """

    most: int
    seconds: float
    may_be_cut: bool = False


BoundsOf = Callable[[bytes, int | None], BodyBounds]
"""The raw target of a request and the length of its body (None: in chunks) to the bounds of that body."""


class Refusal(NamedTuple):
    """A status for what is no request; the connection ends with it."""

    status: int


class _Malformed(Exception):
    """Status of the refusal."""


class RequestReader:
    """Reads the requests of one connection. Feed it, then take what is there with ``next``, again and again."""

    def __init__(self, bounds_of: BoundsOf) -> None:
        self._bounds_of = bounds_of
        self._input = b""
        self._searched = 0
        self._lines: list[Line] = []
        self._request_lines: list[Line] | None = None
        self._start: re.Match[bytes] | None = None
        self._data = bytearray()
        self._remaining: int | None = 0
        self._cost = 0
        self._complete = self._is_new = self._keep_alive = self._upgrade = False
        self._parser = httptools.HttpRequestParser(self)
        self.phase = Phase.IDLE
        self.wants_continue = False
        """True while the client waits for 100 before it sends the body."""
        self.bounds = BodyBounds(0, 0.0)
        """Those of the body that is being read."""

    def feed(self, data: bytes) -> None:
        """Add what came of the connection."""
        self._input = self._input + data if self._input else data

    @property
    def has_more(self) -> bool:
        """True if bytes are there that no request was made of."""
        return bool(self._input)

    @property
    def is_new(self) -> bool:
        """True if the request that was read last is one of HTTP/1.1, False for HTTP/1.0."""
        return self._is_new

    @property
    def size(self) -> int:
        """Bytes that are held in memory."""
        return len(self._input) + len(self._data)

    def next(self) -> Request | Refusal | None:
        """Return the next request, or why it is none, or None if more has to come."""
        try:
            return self._in_body() if self.phase is Phase.BODY else self._head()
        except _Malformed as malformed:
            return Refusal(malformed.args[0])

    def cut(self) -> Request:
        """Return the request whose body did not come in time, with what is there of it."""
        return self._request(Body(bytes(self._data), ended=False), keep_alive=False)

    def close(self) -> None:
        """Let go of the parser, which holds this reader."""
        del self._parser

    # httptools calls these. A method that raises ends the message as malformed.

    def on_message_begin(self) -> None:
        if self._complete:
            raise _Malformed(400)  # it stands behind chunks

    def on_header(self, name: bytes, value: bytes) -> None:
        self._lines.append((name, value))

    def on_headers_complete(self) -> None:
        self._keep_alive = self._parser.should_keep_alive()
        self._upgrade = self._parser.should_upgrade()
        self._request_lines, self._lines = self._lines, []

    def on_body(self, data: bytes) -> None:
        self._data += data

    def on_message_complete(self) -> None:
        self._complete = True

    # The head.

    def _head(self) -> Request | None:
        end = self._input.find(_END, self._searched) + 4
        if end == 3:
            self._look_at_incomplete_head()
            return None
        if end == len(self._input):
            head, self._input = self._input, b""
        else:
            head, self._input = self._input[:end], self._input[end:]
        self._searched = 0
        start = _REQUEST_LINE.match(head)
        if start is None or start.end() > MAX_REQUEST_LINE or end > MAX_HEAD:
            raise _Malformed(_status_of(head))
        self._start, self._is_new = start, start[3] == b"1"
        self._complete = False
        self._feed(_STARTS[self._is_new] + head[start.end() :])
        lines = self._request_lines
        if lines is None:
            raise _Malformed(400)
        if len(lines) > MAX_FIELDS or (end > MAX_FIELD and any(len(n) + len(v) > MAX_FIELD for n, v in lines)):
            raise _Malformed(431)
        if b" \r\n" in head or b"\t\r\n" in head:
            self._request_lines = lines = [(name, value.rstrip(b" \t")) for name, value in lines]
        if self._complete and not self._upgrade:
            return self._request(None, keep_alive=self._keep_alive and self._is_new)
        return self._start_of_body(lines)

    def _look_at_incomplete_head(self) -> None:
        """Refuse what cannot become a head any more: the client may wait for the answer with the rest unsent."""
        there = self._input
        self.phase = Phase.HEAD if there else Phase.IDLE
        first = there.find(b"\n", 0, MAX_REQUEST_LINE)
        is_new = first >= self._searched or (first < 0 and len(there) >= MAX_REQUEST_LINE)
        if is_new and not _REQUEST_LINE.match(there):
            raise _Malformed(_status_of(there))
        if _BROKEN_LINE.search(there, self._searched):
            raise _Malformed(400)
        if len(there) > MAX_HEAD:
            raise _Malformed(431)
        self._searched = max(0, len(there) - 3)

    # The body.

    def _start_of_body(self, lines: list[Line]) -> Request | None:
        fields = [(name.lower(), value) for name, value in lines]
        codings = [value.lower() for name, value in fields if name == b"transfer-encoding"]
        lengths = [value for name, value in fields if name == b"content-length"]
        if any(len(value) > _MAX_DIGITS for value in lengths):
            raise _Malformed(400)
        length = sum([int(value) for value in lengths])
        if self._upgrade:  # llhttp takes the message to end here
            if codings or length:
                raise _Malformed(400)
            return self._request(None, keep_alive=self._keep_alive and self._is_new)
        # RFC 9112 section 6.1: a proxy of HTTP/1.0 may have passed the chunks on without reading them.
        if codings and (not self._is_new or codings != [b"chunked"]):
            raise _Malformed(400)
        expected = [value.lower() for name, value in fields if name == b"expect"] if self._is_new else []
        if expected and expected != [b"100-continue"]:
            raise _Malformed(417)
        self._remaining = None if codings else length
        self._data, self._cost = bytearray(), 0
        self.bounds = self._bounds_of(self._start[2] if self._start else b"", self._remaining)
        if not self.bounds.most:
            return self._request(Body(b"", ended=False), keep_alive=False)
        self.phase = Phase.BODY
        self.wants_continue = bool(expected)
        return self._in_body()

    def _in_body(self) -> Request | None:
        if not self._input:
            return None
        self.wants_continue = False
        if self._remaining is None:
            self._read_chunks()
        else:
            piece, self._input = self._input[: self._remaining], self._input[self._remaining :]
            self._remaining -= len(piece)
            self._feed(piece)
        most = self.bounds.most
        if self._complete or len(self._data) >= most:
            ended = self._complete and len(self._data) < most
            keep_alive = self._complete and self._remaining == 0 and self._keep_alive and self._is_new
            return self._request(Body(bytes(self._data[:most]), ended), keep_alive=keep_alive)
        return None

    def _read_chunks(self) -> None:
        """Give llhttp chunks, a piece at a time: what is behind the bound is not read."""
        while self._input and not self._complete and len(self._data) < self.bounds.most:
            piece, self._input = self._input[:_CHUNKS_AT_ONCE], self._input[_CHUNKS_AT_ONCE:]
            self._cost += len(piece)
            self._feed(piece)
            if self._lines or self._cost > _CHUNKS_FREE + _CHUNKS_COST * (len(self._data) + 1):
                raise _Malformed(400)  # a trailer, or chunks that are all extension

    def _request(self, body: Body | None, *, keep_alive: bool) -> Request:
        self.phase = Phase.IDLE
        self.wants_continue = False
        start, lines = self._start, self._request_lines
        if start is None or lines is None:
            raise _Malformed(400)
        self._request_lines = None
        if self._data:
            self._data = bytearray()
        return Request(start[1], start[2], lines, body, keep_alive)

    def _feed(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # nobody changes the protocol here
        except httptools.HttpParserError as error:
            # Behind chunks that were whole, or all that is looked at, stands something that is not read.
            if not self._complete and len(self._data) < self.bounds.most:
                raise _Malformed(400) from error


def _status_of(head: bytes) -> int:
    """Return the status for a head that is not taken."""
    if len(head) >= MAX_REQUEST_LINE and head.find(b"\r\n", 0, MAX_REQUEST_LINE) < 0:
        return 414
    return 431 if _REQUEST_LINE.match(head) else 400
