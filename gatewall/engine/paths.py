"""Readings of a path: what servers may resolve it to. No I/O.

Servers differ in rounds of percent-decoding, escaped slashes, backslashes, ``;`` parameters, repeated slashes, dot
segments, ``//host`` at the start and where an escaped ``?``, ``#`` or null byte ends the path, and two of them in a row
may each do some of it. A check of one reading only can be bypassed at a server with another. The readings
are the closure under these operations, in any order, decoded at least once.
"""

import posixpath
import re
from collections.abc import Callable, Iterable
from urllib.parse import unquote_to_bytes

MAX_READINGS = 256
MAX_BYTES = 256 * 1024
"""Limit for all readings of one path. Ordinary paths have one or two readings; only attacks exceed these limits."""
_has_several = re.compile(r"[%;\\]|//|/\.\.?(?:/|\Z)").search
_ESCAPED_SLASH = re.compile(rb"%(2f)", re.IGNORECASE)
_WIDE = re.compile(rb"%[uU]([0-9A-Fa-f]{4})")
_PARAMETERS = re.compile(rb";[^/]*")
_SLASHES = re.compile(rb"/+")
_END = re.compile(rb"[?#\0]")


def readings_of(path: str) -> tuple[str, ...] | None:
    """Return the paths that servers may resolve this one to, as latin-1 text; None if there are too many.

    A plain path has one reading.
    """
    if not _has_several(path):
        return (path,)
    found = possible_paths(path.encode("latin-1"))
    return None if found is None else tuple([reading.decode("latin-1") for reading in found])


def possible_paths(raw: bytes) -> tuple[bytes, ...] | None:
    """Return the paths that servers may resolve this one to, first the path decoded once; None if too many."""
    if not raw.startswith(b"/"):
        raw = b"/" + raw
    undecoded = _closure((raw,), _ORDERED)
    if undecoded is None:
        return None
    return _closure([decode(path) for path in undecoded for decode in _DECODERS], (*_DECODERS, *_ORDERED))


def resolved(path: bytes) -> bytes:
    """Return a path with backslashes, dot segments and repeated slashes resolved."""
    path = path.replace(b"\\", b"/")
    normal = posixpath.normpath(b"/" + path.lstrip(b"/"))
    return normal + b"/" if path.endswith(b"/") and normal != b"/" else normal


def _closure(paths: Iterable[bytes], operations: tuple[Callable[[bytes], bytes], ...]) -> tuple[bytes, ...] | None:
    """Return the closure of the paths under the operations, in any order; None beyond the limits."""
    found = list(dict.fromkeys(paths))
    known, size = set(found), sum(map(len, found))
    for path in found:  # grows during the loop
        for operation in operations:
            other = operation(path)
            if other not in known:
                known.add(other)
                found.append(other)
                size += len(other)
        if len(found) > MAX_READINGS or size > MAX_BYTES:
            return None
    return tuple(found)


def _decoded_but_slashes(path: bytes) -> bytes:
    if b"%" not in path:
        return path
    return unquote_to_bytes(_ESCAPED_SLASH.sub(rb"%25\1", path))


def _decoded_wide(path: bytes) -> bytes:
    """Decode ``%uXXXX`` (old IIS) to UTF-8."""
    if b"%" not in path:
        return path
    return _WIDE.sub(lambda found: chr(int(found[1], 16)).encode("utf-8", "surrogatepass"), path)


def _with_slashes(path: bytes) -> bytes:
    return path.replace(b"\\", b"/")


def _merged(path: bytes) -> bytes:
    return _SLASHES.sub(b"/", path) if b"//" in path else path


def _without_parameters(path: bytes) -> bytes:
    return _PARAMETERS.sub(b"", path) if b";" in path else path


def _without_authority(path: bytes) -> bytes:
    """Return the path after the authority of a network-path reference (RFC 3986 section 4.2), ``//host/path``.

    Servers that resolve the target of the request line against a base URL read it so; URL parsers of the WHATWG skip
    more slashes.
    """
    return b"/" + path.lstrip(b"/").partition(b"/")[2] if path.startswith(b"//") else path


def _without_query(path: bytes) -> bytes:
    """Return the path up to a ``?``, ``#`` or null byte that was escaped, for servers that decode before they split."""
    return _END.split(path, maxsplit=1)[0]


def _without_dot_segments(path: bytes) -> bytes:
    """Return the path after RFC 3986 section 5.2.4, which keeps repeated slashes."""
    if b"/." not in path:
        return path
    kept: list[bytes] = []
    segments = path[1:].split(b"/")
    for segment in segments:
        if segment == b"..":
            del kept[-1:]
        elif segment != b".":
            kept.append(segment)
    if segments[-1] in {b".", b".."}:
        kept.append(b"")
    return b"/" + b"/".join(kept)


_DECODERS = (unquote_to_bytes, _decoded_but_slashes)
_ORDERED = (
    *(_decoded_wide, _with_slashes, _without_authority, _merged, _without_dot_segments),
    *(_without_parameters, _without_query),
)
