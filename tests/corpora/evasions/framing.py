"""Ways to frame a body on the wire: lengths, chunks, extensions, trailers, folded and repeated headers."""

import gzip
from collections.abc import Callable
from typing import NamedTuple

from tests.corpora.evasions.making import FORM


class Framed(NamedTuple):
    """Header lines besides the host, and what follows the empty line."""

    lines: list[bytes]
    wire: bytes


KIND = f"Content-Type: {FORM}".encode()
_CHUNKED = b"Transfer-Encoding: chunked"
Frame = Callable[[bytes], Framed]


def _length(*lines: bytes, kind: bytes = KIND) -> Frame:
    """Frame by length; ``%d`` in the lines is the length of the body."""
    return lambda body: Framed([kind, *(each % len(body) if b"%d" in each else each for each in lines)], body)


def _chunks(
    *lines: bytes,
    size: int = 65_536,
    head: bytes = b"%x",
    end: bytes = b"\r\n",
    trailers: bytes = b"",
    last: bytes = b"0",
    kind: bytes = KIND,
) -> Frame:
    """Frame in chunks of a size; ``head`` is the line before each."""

    def frame(body: bytes) -> Framed:
        parts = [body[at : at + size] for at in range(0, len(body), size)]
        wire = b"".join([head % len(part) + end + part + end for part in parts])
        named = [each % len(body) if b"%d" in each else each for each in lines or (_CHUNKED,)]
        return Framed([kind, *named], wire + last + end + trailers + end)

    return frame


def _zipped(body: bytes) -> Framed:
    packed = gzip.compress(body, mtime=0)
    return Framed([KIND, b"Transfer-Encoding: gzip, chunked"], b"%x\r\n%s\r\n0\r\n\r\n" % (len(packed), packed))


def _cut(body: bytes) -> Framed:
    """State a length that ends before the attack, and send all of it in chunks."""
    framed = _chunks()(body)
    return Framed([*framed.lines, b"Content-Length: 2"], framed.wire)


USUAL: dict[str, Frame] = {
    "a length": _length(b"Content-Length: %d"),
    "one chunk": _chunks(),
    "chunks of one byte": _chunks(size=1),
    "chunks of seven bytes": _chunks(size=7),
    "a chunk extension": _chunks(head=b"%x;a=b"),
    "a trailer": _chunks(trailers=b"X-Checksum: 1\r\n"),
    "sizes in capitals": _chunks(head=b"%X"),
}
"""Framings that clients and proxies send: harmless text in them is let in."""
ODD: dict[str, Frame] = {
    "a quoted chunk extension": _chunks(head=b'%x;a="b;c"'),
    "a chunk extension without a value": _chunks(head=b"%x;a"),
    "a long chunk extension": _chunks(head=b"%x;a=" + b"b" * 2_000),
    "blanks around a chunk extension": _chunks(head=b"%x ; a = b"),
    "an extension of the last chunk": _chunks(last=b"0;a=b"),
    "sizes with zeros before them": _chunks(head=b"000%x"),
    "a last chunk of many zeros": _chunks(last=b"0000"),
    "sizes with a blank behind them": _chunks(head=b"%x "),
    "sizes with 0x": _chunks(head=b"0x%x"),
    "line feeds between chunks": _chunks(end=b"\n"),
    "a trailer that names a length": _chunks(trailers=b"Content-Length: 5\r\n"),
    "a trailer that names a media type": _chunks(trailers=b"Content-Type: text/plain\r\n"),
    "very many trailers": _chunks(trailers=b"".join(b"X-%d: 1\r\n" % each for each in range(90))),
    "announced trailers": _chunks(b"Trailer: Content-Type", _CHUNKED, trailers=b"Content-Type: image/png\r\n"),
    "a length and chunks": _chunks(b"Content-Length: %d", _CHUNKED),
    "chunks and a length": _chunks(_CHUNKED, b"Content-Length: %d"),
    "a length that ends early, and chunks": _cut,
    "a length of zero and chunks": _chunks(b"Content-Length: 0", _CHUNKED),
    "the same length twice": _length(b"Content-Length: %d", b"Content-Length: %d"),
    "the same length in a list": lambda body: Framed([KIND, b"Content-Length: %d, %d" % ((len(body),) * 2)], body),
    "a second length of one": _length(b"Content-Length: %d", b"Content-Length: 1"),
    "a first length of one": _length(b"Content-Length: 1", b"Content-Length: %d"),
    "a length with zeros before it": _length(b"Content-Length: 000%d"),
    "a length with a sign": _length(b"Content-Length: +%d"),
    "a folded length": _length(b"Content-Length:\r\n %d"),
    "a folded media type": _length(
        b"Content-Length: %d", kind=b"Content-Type: application/\r\n\tx-www-form-urlencoded"
    ),
    "a media type folded at its beginning": _length(b"Content-Length: %d", kind=KIND.replace(b": ", b":\r\n ")),
    "a folded parameter": _length(b"Content-Length: %d", kind=KIND + b";\r\n charset=utf-8"),
    "a folded coding": _chunks(b"Transfer-Encoding:\r\n chunked"),
    "another header folded": _length(b"X-A: b\r\n c", b"Content-Length: %d"),
    "a coding in capitals": _chunks(b"Transfer-Encoding: CHUNKED"),
    "a coding behind a comma": _chunks(b"Transfer-Encoding: , chunked"),
    "a coding in two headers": _chunks(b"Transfer-Encoding: identity", _CHUNKED),
    "chunked twice": _chunks(_CHUNKED, _CHUNKED),
    "a coding with a parameter": _chunks(b"Transfer-Encoding: chunked;q=1"),
    "a coding before a tab": _chunks(b"Transfer-Encoding: chunked\t"),
    "a blank before the colon": _chunks(b"Transfer-Encoding : chunked"),
    "an underscore in the coding's name": _length(b"Transfer_Encoding: chunked", b"Content-Length: %d"),
    "gzip as a transfer coding": _zipped,
    "a media type twice": _length(b"Content-Type: text/plain", b"Content-Length: %d"),
    "a media type twice, the form last": _length(KIND, b"Content-Length: %d", kind=b"Content-Type: image/png"),
    "an expectation": _length(b"Expect: 100-continue", b"Content-Length: %d"),
    "an upgrade": _length(b"Upgrade: h2c", b"Content-Length: %d"),
}
FRAMES = USUAL | ODD
