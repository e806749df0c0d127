"""Count records that a process could not write, in a file that outlives the process. Pure.

The file is there, with its bytes, before anything goes wrong: counting needs no room on a full disk, and
whoever ships the spool reads the exact number however the process ended. It stays for the next process.
"""

import json
import os
import struct
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from audit.spool import unnamed
from gatewall.kernel.file_io import try_lock

SUFFIX = ".losses"
_HEAD_BYTES = 512
_COUNTS = struct.Struct("<Qd")  # how many, and when the last one was
_MOST = 2**63  # no database has room for it
_LAST_MOMENT = datetime(9999, 1, 1, tzinfo=UTC).timestamp()


class LossCounter:
    """Counts what one process lost. Not safe to share between threads."""

    def __init__(self, folder: Path, node: str) -> None:
        self._folder = folder
        self._node = node
        self._descriptor = -1
        self._before = 0
        self._gone = 0
        self.count = 0

    def open(self) -> None:
        """Take the file of a process that is gone, or make one, unless ours is there still. Raises OSError."""
        self._leave_if_removed()
        if self._descriptor >= 0:
            return
        if not any(self._adopt(path) for path in loss_files(self._folder)):
            self._create()
        if self.count > self._gone:
            self._write(time.time())

    def add(self, at: float) -> None:
        """Count one record, lost at this moment (seconds since the epoch)."""
        self._leave_if_removed()
        self.count += 1
        with suppress(OSError):  # it is in the number that the next one writes
            self._write(at)

    def close(self) -> None:
        """Let go of the file; what was counted stays in it."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _leave_if_removed(self) -> None:
        """Let go of a file that somebody removed: what was counted in it is gone with it."""
        if self._descriptor >= 0 and not os.fstat(self._descriptor).st_nlink:
            self.close()
            self._before, self._gone = 0, self.count

    def _adopt(self, path: Path) -> bool:
        """Go on counting in a file that nobody holds: on a full disk there is no room for another."""
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            former = losses_of(path) if try_lock(descriptor) else None  # after the lock: the last number of its writer
        except OSError:
            former = None
        if former is None or former.node != self._node:
            os.close(descriptor)
            return False
        self._descriptor, self._before = descriptor, former.count
        return True

    def _create(self) -> None:
        path = self._folder / f"{uuid.uuid4()}{SUFFIX}"
        head = json.dumps({"losses": 1, "id": path.stem, "node": self._node}).encode().ljust(_HEAD_BYTES - 1)
        self._descriptor = unnamed.create_with_head(path, head + b"\n" + _COUNTS.pack(0, 0.0), os.O_RDWR)

    def _write(self, at: float) -> None:
        if self._descriptor >= 0:
            os.pwrite(self._descriptor, _COUNTS.pack(self._before + self.count - self._gone, at), _HEAD_BYTES)


@dataclass(frozen=True, slots=True)
class Losses:
    """How many records the processes that had a file have lost, one after the other, and when the last one."""

    id: uuid.UUID
    node: str
    count: int
    at: float


def losses_of(path: Path) -> Losses | None:
    """Return what a file says, or None if it cannot be read as one. Raises OSError."""
    data = path.read_bytes()
    try:
        head = json.loads(data[:_HEAD_BYTES])
        losses = Losses(uuid.UUID(head["id"]), str(head["node"])[:100], *_COUNTS.unpack_from(data, _HEAD_BYTES))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, struct.error):
        return None
    return losses if losses.count < _MOST and 0 <= losses.at < _LAST_MOMENT else None


def loss_files(folder: Path) -> list[Path]:
    """Return the files of the processes that write, or wrote, to this spool."""
    return sorted(folder.glob(f"*{SUFFIX}"))
