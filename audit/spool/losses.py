"""Count records that a process could not write, in a file that survives the process. Pure.

The file is allocated in advance, because a full disk has no room for it. However the process ends, the agent reads the
exact count; the next process continues with the file.
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

from audit.spool.new_files import create_with_head
from gatewall.kernel.file_io import try_lock

SUFFIX = ".losses"
_HEAD_BYTES = 512
_COUNTS = struct.Struct("<Qd")  # count, and time of the last loss
_MAX_LOSSES = 2**63  # larger counts do not fit into the database
_MAX_MOMENT = datetime(9999, 1, 1, tzinfo=UTC).timestamp()


class LossCounter:
    """Counter of the records that one process lost. Not thread-safe."""

    def __init__(self, folder: Path, node: str) -> None:
        self._folder = folder
        self._node = node
        self._descriptor = -1
        self._former_count = 0
        self._count_in_removed_file = 0
        self.count = 0

    def open(self) -> None:
        """Open the counter file: keep the current one, adopt an abandoned one, or create one. Raises OSError."""
        self._close_if_removed()
        if self._descriptor >= 0:
            return
        if not any(self._adopt(path) for path in loss_files(self._folder)):
            self._create()
        if self.count > self._count_in_removed_file:
            self._write(time.time())

    def add(self, at: float) -> None:
        """Count a record lost at ``at`` (seconds since the epoch)."""
        self._close_if_removed()
        self.count += 1
        with suppress(OSError):  # the count of the next write includes this record
            self._write(at)

    def close(self) -> None:
        """Close the file; its count remains."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _close_if_removed(self) -> None:
        """Close the file if it was removed; the count in it is lost."""
        if self._descriptor >= 0 and not os.fstat(self._descriptor).st_nlink:
            self.close()
            self._former_count, self._count_in_removed_file = 0, self.count

    def _adopt(self, path: Path) -> bool:
        """Adopt the file of a dead process: a full disk has no room for a new one."""
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            # read under the lock: its writer has ended, so that the count is final
            former = losses_of(path) if try_lock(descriptor) else None
        except OSError:
            former = None
        if former is None or former.node != self._node:
            os.close(descriptor)
            return False
        self._descriptor, self._former_count = descriptor, former.count
        return True

    def _create(self) -> None:
        path = self._folder / f"{uuid.uuid4()}{SUFFIX}"
        head = json.dumps({"losses": 1, "id": path.stem, "node": self._node}).encode().ljust(_HEAD_BYTES - 1)
        self._descriptor = create_with_head(path, head + b"\n" + _COUNTS.pack(0, 0.0), os.O_RDWR)

    def _write(self, at: float) -> None:
        if self._descriptor >= 0:
            count = self._former_count + self.count - self._count_in_removed_file
            os.pwrite(self._descriptor, _COUNTS.pack(count, at), _HEAD_BYTES)


@dataclass(frozen=True, slots=True)
class Losses:
    """Number of lost records of all processes that used a counter file, and the time of the last loss."""

    id: uuid.UUID
    node: str
    count: int
    at: float


def losses_of(path: Path) -> Losses | None:
    """Return the content of a counter file, or None if it is invalid. Raises OSError."""
    data = path.read_bytes()
    try:
        head = json.loads(data[:_HEAD_BYTES])
        losses = Losses(uuid.UUID(head["id"]), str(head["node"])[:100], *_COUNTS.unpack_from(data, _HEAD_BYTES))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, struct.error):
        return None
    return losses if losses.count < _MAX_LOSSES and 0 <= losses.at < _MAX_MOMENT else None


def loss_files(folder: Path) -> list[Path]:
    """Return the counter files of this spool."""
    return sorted(folder.glob(f"*{SUFFIX}"))
