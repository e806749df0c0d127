"""Visitor's request body, where the proxy passes it on: limit, completeness, decompression. Pure.

Proxies that pass it on: Envoy's ``ext_authz`` (``with_request_body``), Traefik's ``forwardAuth`` (``forwardBody``).
"""

import zlib
from dataclasses import dataclass, field

from gatewall.engine.waf.reading import MAX_BODY
from gatewall.gate.headers import Headers
from gatewall.server.http1 import BodyBounds

SECONDS = 2.0
"""How long a body may take; the proxy has read all of it before it sends the subrequest."""
READ_AT_MOST = MAX_BODY + 1
"""One byte more than is examined shows that there is more."""
BOUNDS = BodyBounds(READ_AT_MOST, SECONDS, may_be_cut=True)
_EITHER_HEADER = 32 + zlib.MAX_WBITS  # gzip, or the zlib format that HTTP calls deflate
_UNPACKED = frozenset({"gzip", "x-gzip", "deflate"})


@dataclass(frozen=True, slots=True)
class Body:
    """The examined part of a body; ``whole`` if it is the entire body."""

    data: bytes = field(repr=False)
    whole: bool = True


def bounds(_target: bytes, _length: int | None) -> BodyBounds:
    """Return the read limits for the body of any request to the gate."""
    return BOUNDS


def is_sent(headers: Headers) -> bool:
    """True if the headers announce a body."""
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers


def of_read(data: bytes, headers: Headers, *, ended: bool) -> Body | None:
    """Return the body from the bytes that were read; None if it is empty.

    ``ended`` if nothing follows. A body shorter than its Content-Length is not whole.
    """
    length = headers.get("content-length", "")
    whole = ended and len(data) <= MAX_BODY and ("transfer-encoding" in headers or length == str(len(data)))
    return Body(data[:MAX_BODY], whole) if data or not whole else None


def unpacked(body: Body, coding: str) -> Body:
    """Decompress gzip and deflate, as the site would.

    A body that cannot be decompressed is returned as sent. Its ``whole`` is False, as for a body over the limit.
    """
    codings = [name for each in coding.split(",") if (name := each.strip().lower()) not in {"", "identity"}]
    if not codings:
        return body
    if len(codings) > 1 or codings[0] not in _UNPACKED:
        return Body(body.data, whole=False)
    unpacker = zlib.decompressobj(_EITHER_HEADER)
    try:
        data = unpacker.decompress(body.data, READ_AT_MOST)
    except zlib.error:
        return Body(body.data, whole=False)
    return Body(data[:MAX_BODY], body.whole and len(data) <= MAX_BODY and unpacker.eof and not unpacker.unused_data)
