"""HTTP/1.1 request parser for one connection, one request at a time. No I/O.

The request line is parsed here only and has one form. llhttp (httptools, strict mode) parses what frames the message:
headers and body. Input that two parsers could read differently is refused, and the connection closes.

    head complete, no body        Request
    body complete                 Request
    body over the bound, or 0     Request with a body that has not ended; the connection closes after it
    body that waits               the same, and the whole Request after ``read_body``
    chunked body complete         Request; the connection closes after it: nothing after chunks is parsed
    malformed, or too long        Refusal: 400, 414, 417 or 431
    anything less                 None: more input is needed
"""

import re
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, NamedTuple

import httptools

Line = tuple[bytes, bytes]

MAX_REQUEST_LINE = 17_408
"""The longest URI that is examined, plus the endpoint's prefix, a method and a version."""
MAX_FIELD = 32_768
"""One header line: nginx accepts lines of 8 KiB and sends a URI of that length in a header."""
MAX_FIELDS = 200
MAX_HEAD = 131_072
"""All header lines: the visitor's, which passed the proxy's own limit, and those that the proxy adds."""
_CHUNKS_COST = 16
"""Bytes on the wire for each byte of a chunked body: a 1-byte chunk costs six, an extension any number."""
_CHUNKS_FREE = 1024
_CHUNKS_AT_ONCE = 65_537
_MAX_DIGITS = 20
"""Enough for 64 bits. llhttp accepts any number of leading zeros, int() only some thousands."""
_END = b"\r\n\r\n"
_REQUEST_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([!-~\x80-\xff]+) HTTP/1\.([01])\r\n")
_STARTS = (b"POST / HTTP/1.0\r\n", b"POST / HTTP/1.1\r\n")
"""The request line that llhttp gets instead: it knows a fixed list of methods, and CONNECT would end HTTP parsing."""
_BROKEN_LINE = re.compile(rb"(?<!\r)\n|\r(?![\n]|\Z)|\0")


class Phase(Enum):
    """How much of a request has been read."""

    IDLE = "idle"
    HEAD = "head"
    BODY = "body"


class Body(NamedTuple):
    """The part of a body that was read; ``ended`` if that is all of it, ``waits`` if it is read on demand."""

    data: bytes
    ended: bool
    waits: bool = False


class Request(NamedTuple):
    """A request as sent: nothing is decoded, folded or reordered."""

    method: bytes
    target: bytes
    lines: Sequence[Line]
    body: Body | None
    keep_alive: bool
    head: Any = None
    """The memo's entry for its head, if any (gatewall/server/heads.py)."""


class BodyBounds(NamedTuple):
    """Limits for reading a body: at most ``most`` bytes (0: do not read) within ``seconds``.

    A late body is cut and answered if ``may_be_cut``, else refused (408). One that ``waits`` is read on demand.
    """

    most: int
    seconds: float
    may_be_cut: bool = False
    waits: bool = False


BoundsOf = Callable[[bytes, int | None], BodyBounds]
"""(raw target, length of the body or None if chunked) -> bounds of the body."""


class Refusal(NamedTuple):
    """The status for malformed input; the connection closes after it."""

    status: int


class _Malformed(Exception):
    """Refuse the request; the argument is the status."""


class RequestReader:
    """Incremental parser of one connection: call ``feed``, then ``next`` until it returns None."""

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
        """Bounds of the current body."""

    def feed(self, data: bytes) -> None:
        """Append received bytes."""
        self._input = self._input + data if self._input else data

    @property
    def has_more(self) -> bool:
        return bool(self._input)

    @property
    def is_new(self) -> bool:
        return self._is_new

    @property
    def size(self) -> int:
        return len(self._input) + len(self._data)

    def next(self) -> Request | Refusal | None:
        """Return the next request, a refusal, or None if more input is needed."""
        try:
            return self._in_body() if self.phase is Phase.BODY else self._head()
        except _Malformed as malformed:
            return Refusal(malformed.args[0])

    def cut(self) -> Request:
        """Return the request whose body timed out, with the part that came."""
        return self._request(Body(bytes(self._data), ended=False), keep_alive=False)

    def read_body(self) -> None:
        """Read the postponed body: ``next`` returns the request again, with the whole body."""
        self.phase = Phase.BODY

    def close(self) -> None:
        """Drop the parser: it and this reader reference each other."""
        del self._parser

    # Callbacks of httptools. A method that raises makes the message malformed.

    def on_message_begin(self) -> None:
        if self._complete:
            raise _Malformed(400)  # bytes after the chunks

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
            self._check_incomplete_head()
            return None
        if end == len(self._input):
            head, self._input = self._input, b""
        else:
            head, self._input = self._input[:end], self._input[end:]
        self._searched = 0
        return self._parsed(head)

    def _parsed(self, head: bytes) -> Request | None:
        start, end = _REQUEST_LINE.match(head), len(head)
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

    def _check_incomplete_head(self) -> None:
        """Refuse early what cannot become a valid head: the client may wait for the response before it sends more."""
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
        if self._upgrade:  # llhttp ends the message here
            if codings or length:
                raise _Malformed(400)
            return self._request(None, keep_alive=self._keep_alive and self._is_new)
        # RFC 9112 section 6.1: an HTTP/1.0 proxy may have passed the chunks on without parsing them.
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
        self.wants_continue = bool(expected)
        if self.bounds.waits and self._start is not None:
            return Request(self._start[1], self._start[2], lines, Body(b"", ended=False, waits=True), keep_alive=False)
        self.phase = Phase.BODY
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
        """Feed chunks to llhttp piece by piece, so that nothing over the bound is read."""
        while self._input and not self._complete and len(self._data) < self.bounds.most:
            piece, self._input = self._input[:_CHUNKS_AT_ONCE], self._input[_CHUNKS_AT_ONCE:]
            self._cost += len(piece)
            self._feed(piece)
            if self._lines or self._cost > _CHUNKS_FREE + _CHUNKS_COST * (len(self._data) + 1):
                raise _Malformed(400)  # a trailer, or chunks that consist of extensions

    def _request(self, body: Body | None, *, keep_alive: bool) -> Request:
        self.phase, self.wants_continue = Phase.IDLE, False
        start, lines = self._start, self._request_lines
        if start is None or lines is None:
            raise _Malformed(400)
        self._request_lines = None
        self._data = self._data and bytearray()
        return Request(start[1], start[2], lines, body, keep_alive)

    def _feed(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # protocol upgrades are not supported
        except httptools.HttpParserError as error:
            # An error after the complete body, or after all bytes that are examined, does not matter.
            if not self._complete and len(self._data) < self.bounds.most:
                raise _Malformed(400) from error


def _status_of(head: bytes) -> int:
    """Return the refusal status of an invalid head."""
    if len(head) >= MAX_REQUEST_LINE and head.find(b"\r\n", 0, MAX_REQUEST_LINE) < 0:
        return 414
    return 431 if _REQUEST_LINE.match(head) else 400
