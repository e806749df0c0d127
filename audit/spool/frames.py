"""Frame format of a spool segment: marker, length, CRC-32, record. Pure.

The mark stands in no UTF-8, which records are, so behind a damaged frame the next one is found again, and a flipped
bit costs one record and not the rest of the segment.
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

MARK = b"\xf1\x97\xe8\x0a"
_HEAD = struct.Struct(">4sII")
MAX_RECORD_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Frame:
    """A piece of a segment, by where it ends: a record, or (None) bytes that are none any more."""

    end: int
    record: bytes | None


def framed(record: bytes) -> bytes:
    """Return a record as it stands in a segment."""
    return _HEAD.pack(MARK, len(record), zlib.crc32(record)) + record


def frames(segment: bytes, start: int) -> Iterator[Frame]:
    """Yield the frames from ``start`` on, which is where one begins, and stop before an incomplete one."""
    position = start
    while position < len(segment):
        frame = _frame_at(segment, position) or _damaged(segment, position)
        if frame is None:
            return
        yield frame
        position = frame.end


def _frame_at(segment: bytes, position: int) -> Frame | None:
    """Return the intact frame that begins here, or None."""
    if position + _HEAD.size > len(segment):
        return None
    mark, length, checksum = _HEAD.unpack_from(segment, position)
    end = position + _HEAD.size + length
    if mark != MARK or not 0 < length <= MAX_RECORD_BYTES or end > len(segment):
        return None
    record = segment[position + _HEAD.size : end]
    return Frame(end, record) if zlib.crc32(record) == checksum else None


def _damaged(segment: bytes, position: int) -> Frame | None:
    """Return what lies before the next mark, or None if there is none: then somebody may still be writing."""
    following = segment.find(MARK, position + 1)
    if following > 0:
        return Frame(following, None)
    return Frame(len(segment), None) if _is_whole(segment, position) else None


def _is_whole(segment: bytes, position: int) -> bool:
    """True if the last frame has all its bytes, so that it is damaged and not torn."""
    if position + _HEAD.size > len(segment):
        return False
    mark, length, _checksum = _HEAD.unpack_from(segment, position)
    return bool(mark == MARK and position + _HEAD.size + length == len(segment))
