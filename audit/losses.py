"""How many records a process could not write, kept in a file that outlives the process. Pure.

The file is there, with its page, before anything goes wrong: counting needs no room on a full disk, and
whoever ships the spool reads the exact number however the process ended.
"""

import fcntl
import json
import mmap
import os
import struct
import uuid
from dataclasses import dataclass
from pathlib import Path

SUFFIX = ".losses"
_HEAD_BYTES = 512
_COUNTS = struct.Struct("<Qd")  # how many, and when the last one was
_FILE_BYTES = _HEAD_BYTES + _COUNTS.size


class LossCounter:
    """Counts what one process lost. Not safe to share between threads."""

    def __init__(self, folder: Path, node: str) -> None:
        self._folder = folder
        self._node = node
        self._map: mmap.mmap | None = None
        self._descriptor = -1
        self.count = 0

    def open(self) -> None:
        """Make the file, with what was counted until now, unless it is there. Raises OSError."""
        if self._map is not None:
            return
        path = self._folder / f"{uuid.uuid4()}{SUFFIX}"
        unseen = path.with_suffix(".new")
        descriptor = os.open(unseen, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            head = json.dumps({"losses": 1, "id": path.stem, "node": self._node}).encode().ljust(_HEAD_BYTES - 1)
            _write_whole(descriptor, head + b"\n" + _COUNTS.pack(self.count, 0.0))
            os.fdatasync(descriptor)
            self._map = mmap.mmap(descriptor, _FILE_BYTES)
            unseen.rename(path)
        except OSError:
            self._map = None
            os.close(descriptor)
            unseen.unlink(missing_ok=True)
            raise
        self._descriptor = descriptor

    def add(self, at: float) -> None:
        """Count one record, lost at this moment (seconds since the epoch)."""
        self.count += 1
        if self._map is not None:
            _COUNTS.pack_into(self._map, _HEAD_BYTES, self.count, at)

    def close(self) -> None:
        """Let go of the file; what was counted stays in it."""
        if self._map is not None:
            self._map.close()
            os.close(self._descriptor)
            self._map, self._descriptor = None, -1


def _write_whole(descriptor: int, data: bytes) -> None:
    if os.write(descriptor, data) != len(data):
        raise OSError("the disk took a part only")


@dataclass(frozen=True, slots=True)
class Losses:
    """How many records a process of a node has lost since it began, and when the last one."""

    id: uuid.UUID
    node: str
    count: int
    at: float


def losses_of(path: Path) -> Losses | None:
    """Return what a file says, or None if it cannot be read as one. Raises OSError."""
    data = path.read_bytes()
    try:
        head = json.loads(data[:_HEAD_BYTES])
        return Losses(uuid.UUID(head["id"]), str(head["node"])[:100], *_COUNTS.unpack_from(data, _HEAD_BYTES))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, struct.error):
        return None


def loss_files(folder: Path) -> list[Path]:
    """Return the files of the processes that write, or wrote, to this spool."""
    return sorted(folder.glob(f"*{SUFFIX}"))
