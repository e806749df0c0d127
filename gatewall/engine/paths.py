"""Readings of a path: what servers may resolve it to. No I/O.

Servers differ in rounds of percent-decoding, escaped slashes, backslashes, ``;`` parameters, repeated slashes and dot
segments. A check of a path that knows one reading only is bypassed at a server with another.
"""

import posixpath
import re
from collections.abc import Iterator
from urllib.parse import unquote_to_bytes

DECODING_ROUNDS = 3
"""Rounds of percent-decoding, against double encoding."""
_has_several = re.compile(r"[%;\\]|//|/\.\.?(?:/|\Z)").search
_ESCAPED_SLASH = re.compile(rb"%(2f|5c)", re.IGNORECASE)


def readings_of(path: str) -> tuple[str, ...]:
    """Return the paths that servers may resolve this one to, as latin-1 text; a plain path has one reading."""
    if not _has_several(path):
        return (path,)
    return tuple([reading.decode("latin-1") for reading in possible_paths(path.encode("latin-1"))])


def possible_paths(raw: bytes) -> tuple[bytes, ...]:
    """Return the paths that servers may resolve this one to; the first is the path decoded once."""
    found: dict[bytes, None] = {}
    for start in dict.fromkeys((raw, _without_parameters(raw))):  # Tomcat removes parameters before it decodes
        for decoded in _decoded(start):
            for path in dict.fromkeys((decoded, _without_parameters(decoded))):
                found.update(dict.fromkeys(_forms(path)))
    return tuple(found)


def resolved(path: bytes) -> bytes:
    """Return a path with backslashes, dot segments and repeated slashes resolved."""
    return _merged_and_resolved(path.replace(b"\\", b"/"))


def _decoded(path: bytes) -> Iterator[bytes]:
    """Yield the path decoded once, twice and three times, and once except for its escaped slashes."""
    with_escaped_slashes = unquote_to_bytes(_ESCAPED_SLASH.sub(rb"%25\1", path))
    for _ in range(DECODING_ROUNDS):
        path = unquote_to_bytes(path)
        yield path
        if b"%" not in path:
            break
    yield with_escaped_slashes


def _forms(path: bytes) -> Iterator[bytes]:
    """Yield a decoded path with slashes merged, dot segments resolved, both, or neither.

    Backslashes are letters to some servers, slashes to others.
    """
    for each in dict.fromkeys((path, path.replace(b"\\", b"/"))):
        yield each
        yield _merged(each)
        yield _without_dot_segments(each)
        yield _merged_and_resolved(each)


def _without_parameters(path: bytes) -> bytes:
    if b";" not in path:
        return path
    return b"/".join([segment.partition(b";")[0] for segment in path.split(b"/")])


def _merged(path: bytes) -> bytes:
    return b"/" + b"/".join([segment for segment in path.split(b"/") if segment])


def _without_dot_segments(path: bytes) -> bytes:
    """Return the path after RFC 3986 section 5.2.4, which keeps repeated slashes."""
    if b"/." not in path:
        return path
    kept: list[bytes] = []
    segments = path.removeprefix(b"/").split(b"/")
    for segment in segments:
        if segment == b"..":
            del kept[-1:]
        elif segment != b".":
            kept.append(segment)
    if segments[-1] in {b".", b".."}:
        kept.append(b"")
    return b"/" + b"/".join(kept)


def _merged_and_resolved(path: bytes) -> bytes:
    normal = posixpath.normpath(b"/" + path.lstrip(b"/"))
    return normal + b"/" if path.endswith(b"/") and normal != b"/" else normal
