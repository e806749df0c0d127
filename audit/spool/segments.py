"""List, read and quarantine spool segments for shipping. Pure."""

import json
import logging
import os
import uuid
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gatewall.kernel.file_io import try_lock

logger = logging.getLogger(__name__)

SUFFIX = ".spool"
SEGMENT_BYTES = 8 * 1024 * 1024
_QUARANTINE_SUFFIX = ".aside"
_MAX_QUARANTINED = 1000
"""Maximum number of pieces to keep; further pieces are only counted."""


def segment_files(folder: Path) -> list[Path]:
    """Return the segments of the spool, oldest first."""
    if not folder.is_dir():
        return []
    return sorted(folder.glob(f"*{SUFFIX}"), key=_written_at)


Looked = dict[Path, tuple[int, int]]
"""By file: its size when it was last read, and the number of these bytes that are unread."""


def waiting_bytes(folder: Path, looked: Looked) -> int:
    """Return the number of unread bytes in the spool; a file that was never read counts with its whole size."""
    total = 0
    for path in segment_files(folder):
        with suppress(FileNotFoundError):  # shipped meanwhile
            size, left = looked.get(path, (0, 0))
            total += max(0, path.stat().st_size - size + left)
    return total


def _written_at(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:  # shipped meanwhile
        return 0


def is_being_written(path: Path) -> bool:
    """Return whether the writer of the segment is still running."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return not try_lock(descriptor)
    finally:
        os.close(descriptor)


@dataclass(frozen=True, slots=True)
class Segment:
    """Id and host of a segment, and the offset of its first frame."""

    id: uuid.UUID
    node: str
    first: int


def segment_of(path: Path) -> Segment | None:
    """Parse the head of a file; None if it is invalid. Raises OSError."""
    with path.open("rb") as file:
        line = file.readline(4096)
    try:
        head = json.loads(line)
        return Segment(uuid.UUID(head["segment"]), str(head["node"])[:100], len(line))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def read_from(path: Path, position: int, limit: int) -> bytes:
    """Read at most ``limit`` bytes from a position. Raises OSError."""
    with path.open("rb") as file:
        file.seek(position)
        return file.read(limit)


def quarantine_piece(segment: Path, position: int, number: int, data: bytes) -> None:
    """Save an unreadable piece of a segment to a file named after its origin, for an operator. Idempotent."""
    path = segment.with_name(f"{segment.stem}-{position}-{number}{_QUARANTINE_SUFFIX}")
    if path.exists() or len(list(segment.parent.glob(f"*{_QUARANTINE_SUFFIX}"))) < _MAX_QUARANTINED:
        path.write_bytes(data)


def quarantine_file(path: Path) -> None:
    """Quarantine a whole unreadable file, for an operator. Raises OSError."""
    path.rename(path.with_suffix(_QUARANTINE_SUFFIX))
    logger.error("access log: %s cannot be read and is set aside", path.name)
