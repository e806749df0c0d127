"""Read the visitor's body, where the proxy passes it on: limit and encoding. Pure.

Envoy's ``ext_authz`` does so ``with_request_body``, Traefik's ``forwardAuth`` with ``forwardBody``.
"""

import zlib
from dataclasses import dataclass, field

from gatewall.engine.waf.reading import MAX_BODY
from gatewall.gate.headers import Headers
from gatewall.server.http1 import BodyBounds

SECONDS = 2.0
"""How long a body may take; the proxy has all of it before it asks, so that only a broken one is slower."""
READ_AT_MOST = MAX_BODY + 1
"""One byte more than is looked at says that there is more."""
BOUNDS = BodyBounds(READ_AT_MOST, SECONDS, may_be_cut=True)
_EITHER_HEADER = 32 + zlib.MAX_WBITS  # gzip, or the zlib format that HTTP calls deflate
_UNPACKED = frozenset({"gzip", "x-gzip", "deflate"})


@dataclass(frozen=True, slots=True)
class Body:
    """What was read of a body, at most what is looked at; ``whole`` if that is all of it."""

    data: bytes = field(repr=False)
    whole: bool = True


def bounds(_target: bytes, _length: int | None) -> BodyBounds:
    """Return how the body of any request to the gate is read."""
    return BOUNDS


def is_sent(headers: Headers) -> bool:
    """True if a body may stand behind these headers."""
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers


def of_read(data: bytes, headers: Headers, *, ended: bool) -> Body | None:
    """Return the body of which this much was read; None if it is empty.

    ``ended`` says that nothing stands behind. A body that is shorter than its length is not whole.
    """
    length = headers.get("content-length", "")
    whole = ended and len(data) <= MAX_BODY and ("transfer-encoding" in headers or length == str(len(data)))
    return Body(data[:MAX_BODY], whole) if data or not whole else None


def unpacked(body: Body, coding: str) -> Body:
    """Return the body as the site reads it: without gzip and deflate.

    What cannot be unpacked, or is more than is looked at, is not whole; what was sent stays in its place.
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
