"""Encode and decode policy segments: a magic, then JSON rows or a memory-mappable table. Pure; never pickle.

``decode`` is strict: it refuses everything that ``encode`` does not write, at the latest when a row is read.
"""

import json
import sys
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any

from gatewall.engine import packed_networks
from gatewall.engine.packed_networks import PackedNetworks, PackedRefused
from gatewall.engine.segments import SHARD_OF, kind_of, source_of
from gatewall.engine.snapshot import KINDS
from gatewall.snapshot import keyed_rows
from gatewall.snapshot.keyed_rows import KeyedRows, KeyedRowsRefused
from gatewall.snapshot.row_codecs import CODECS, list_of, plain

SCHEMA = 7
LAYOUT = f"{SCHEMA}-{sys.byteorder}"
"""Schema and byte order: machines that share both can read each other's segments."""
_MAGIC = b"gatewall segment %d\n" % SCHEMA
_TEXT_OF = json.JSONEncoder(separators=(",", ":"), default=plain).encode
MAX_SEGMENT_BYTES = 256 * 1024 * 1024

Row = Any


class DecodeError(ValueError):
    """The bytes are not a segment of this schema."""


def _number(name: int | str) -> int:
    """Return the number that a keyed row is sorted by: its id, or the start of its digest (not unique)."""
    return name if isinstance(name, int) else int.from_bytes(name.encode()[:8], "big")


def encode(segment: str, rows: Iterable[Row]) -> bytes:
    """Serialize a segment's rows, which are engine values of its kind."""
    if source_of(segment) is not None:
        return _MAGIC + packed_networks.pack(rows)
    kind = kind_of(segment)
    to_json = CODECS[kind].encode
    texts = ((row, _TEXT_OF(to_json(row)).encode()) for row in rows)
    if kind in SHARD_OF:
        name = attrgetter(KINDS[kind].key)
        return _MAGIC + _kind_line(kind) + keyed_rows.pack((_number(name(row)), text) for row, text in texts)
    data = bytearray(_MAGIC + b"[")
    for _, text in texts:  # streamed: a million rows need only their bytes in memory
        data += text + b","
    if data.endswith(b","):
        del data[-1:]
    return bytes(data + b"]")


def decode(segment: str, data: bytes | memoryview) -> Any:
    """Parse a segment. Raises DecodeError.

    Blocked networks become a ``PackedNetworks``; users and tokens a mapping by id or digest. Both parse rows of
    ``data`` lazily, and raise DecodeError for a malformed row. All other kinds become a tuple.
    """
    if len(data) > MAX_SEGMENT_BYTES:
        raise DecodeError(f"{segment} has more than {MAX_SEGMENT_BYTES} bytes")
    if data[: len(_MAGIC)] != _MAGIC:
        raise DecodeError(f"{segment} is not of schema {SCHEMA}")
    body = memoryview(data)[len(_MAGIC) :]
    try:
        if source_of(segment) is not None:
            return PackedNetworks(body)
        kind = kind_of(segment)
        if kind in SHARD_OF:
            line = _kind_line(kind)
            if body[: len(line)] != line:
                raise DecodeError(f"{segment} is of another kind")
            # Copied, a few MiB: rows are parsed long after the digest was checked, and must not change with the
            # file meanwhile. The networks are many more, and remain mapped.
            rows = bytes(body[len(line) :])
            name, row = attrgetter(KINDS[kind].key), CODECS[kind].decode
            return KeyedRows(rows, number=_number, name=name, read=lambda text: _parsed(kind, text, row))
    except (PackedRefused, KeyedRowsRefused) as error:
        raise DecodeError(f"{segment} is {error}") from None
    return _parsed(segment, bytes(body), lambda rows: tuple(map(CODECS[segment].decode, list_of(rows))))


def _kind_line(kind: str) -> bytes:
    return kind.encode() + b"\n"


def _parsed(segment: str, text: bytes, read: Callable[[Any], Any]) -> Any:
    try:
        return read(json.loads(text))
    except _NOT_A_ROW as error:
        raise DecodeError(f"{segment} has a row that cannot be decoded ({type(error).__name__})") from None


_NOT_A_ROW = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
