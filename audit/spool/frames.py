"""Frame format of a spool segment: marker, length, CRC-32, record. Pure.

The marker is invalid UTF-8 and therefore never in a record, so that a reader can resynchronize: a flipped bit destroys
only one record.
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
    """Part of a segment: the offset of its end, and its record; None for damaged bytes."""

    end: int
    record: bytes | None


def framed(record: bytes) -> bytes:
    """Return a record with its frame."""
    return _HEAD.pack(MARK, len(record), zlib.crc32(record)) + record


def frames(segment: bytes, start: int) -> Iterator[Frame]:
    """Yield the frames from ``start``, a frame boundary; stop before an incomplete one."""
    position = start
    while position < len(segment):
        frame = _frame_at(segment, position) or _damaged(segment, position)
        if frame is None:
            return
        yield frame
        position = frame.end


def _frame_at(segment: bytes, position: int) -> Frame | None:
    """Return the intact frame at this position, or None."""
    if position + _HEAD.size > len(segment):
        return None
    mark, length, checksum = _HEAD.unpack_from(segment, position)
    end = position + _HEAD.size + length
    if mark != MARK or not 0 < length <= MAX_RECORD_BYTES or end > len(segment):
        return None
    record = segment[position + _HEAD.size : end]
    return Frame(end, record) if zlib.crc32(record) == checksum else None


def _damaged(segment: bytes, position: int) -> Frame | None:
    """Return the damaged bytes before the next marker; None if this may be a frame that is still being written."""
    following = segment.find(MARK, position + 1)
    if following > 0:
        return Frame(following, None)
    return Frame(len(segment), None) if _is_whole(segment, position) else None


def _is_whole(segment: bytes, position: int) -> bool:
    """Return whether the last frame has its full length, so that it is damaged and not torn."""
    if position + _HEAD.size > len(segment):
        return False
    mark, length, _checksum = _HEAD.unpack_from(segment, position)
    return bool(mark == MARK and position + _HEAD.size + length == len(segment))
