"""List and read spool segments for shipping. Pure."""

import json
import os
import uuid
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gatewall.kernel.file_io import try_lock

SUFFIX = ".spool"
SEGMENT_BYTES = 8 * 1024 * 1024


def segment_files(folder: Path) -> list[Path]:
    """Return the segments in the spool, the oldest first."""
    if not folder.is_dir():
        return []
    return sorted(folder.glob(f"*{SUFFIX}"), key=_written_at)


Looked = dict[Path, tuple[int, int]]
"""Of each file, how much there was when it was last read, and how many bytes of that were left."""


def waiting_bytes(folder: Path, looked: Looked) -> int:
    """Return how much lies in the segments that was not read yet; of one that was not looked at, all of it."""
    total = 0
    for path in segment_files(folder):
        with suppress(FileNotFoundError):  # shipped in this moment
            size, left = looked.get(path, (0, 0))
            total += max(0, path.stat().st_size - size + left)
    return total


def _written_at(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:  # shipped in this moment
        return 0


def is_being_written(path: Path) -> bool:
    """True while the process that writes the segment lives."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return not try_lock(descriptor)
    finally:
        os.close(descriptor)


@dataclass(frozen=True, slots=True)
class Segment:
    """Which segment a file holds, who wrote it, and where its first frame begins."""

    id: uuid.UUID
    node: str
    first: int


def segment_of(path: Path) -> Segment | None:
    """Return the segment of a file, or None if its head cannot be read. Raises OSError."""
    with path.open("rb") as file:
        line = file.readline(4096)
    try:
        head = json.loads(line)
        return Segment(uuid.UUID(head["segment"]), str(head["node"])[:100], len(line))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def read_from(path: Path, position: int, limit: int) -> bytes:
    """Return what a segment holds from a position on, at most ``limit`` bytes. Raises OSError."""
    with path.open("rb") as file:
        file.seek(position)
        return file.read(limit)
