"""The spool: every answer's record, appended to a file of this process before it is answered. Pure.

One ``write`` a record, so that a killed process loses nothing; ``fsync`` follows every 200 ms from a
thread, so that a power failure loses little. A file holds one segment: a line that names it, then the
frames of ``audit.frames``. The writer keeps a lock on its file: a torn frame at the end of a
file that nobody locks is where a process died, and everything before it counts.
"""

import fcntl
import json
import logging
import os
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Lock, Thread

from audit.frames import MAX_RECORD_BYTES, framed, frames
from audit.records import AccessRecord, Gap, RecordRefused

logger = logging.getLogger(__name__)

SUFFIX = ".spool"
_SEGMENT_BYTES = 8 * 1024 * 1024
_FOLDER_BYTES = 1024 * 1024 * 1024
_SYNC_SECONDS = 0.2


class SpoolWriter:
    """Appends the records of one process. Safe to share between threads; never raises."""

    def __init__(
        self, folder: Path, node: str, *, segment_bytes: int = _SEGMENT_BYTES, folder_bytes: int = _FOLDER_BYTES
    ) -> None:
        self._folder = folder
        self._node = node
        self._segment_bytes = segment_bytes
        self._folder_bytes = folder_bytes
        self._lock = Lock()
        self._descriptor = -1
        self._size = 0
        self._unsynced = False
        self._stop = Event()
        self.lost = 0
        """Records that could not be written since this process began."""
        self._lost_before = 0

    def write(self, record: AccessRecord) -> None:
        """Append a record; one that cannot be written is counted in ``lost``, and told by the next that can."""
        frame = framed(record.to_bytes())
        with self._lock:
            try:
                if self.lost > self._lost_before:
                    self._append(framed(Gap(record.at, self.lost - self._lost_before).to_bytes()))
                    self._lost_before = self.lost
                self._append(frame)
            except OSError as error:
                self._give_up_segment()
                if not self.lost:
                    logger.error("access log: records are being lost: %s", error)  # noqa: TRY400 - the words say it all
                self.lost += 1

    def sync_regularly(self) -> None:
        """Have a thread bring what was written to disk every 200 ms."""
        Thread(target=self._sync_until_closed, name="spool", daemon=True).start()

    def close(self) -> None:
        """Bring everything to disk and let go of the file."""
        self._stop.set()
        with self._lock:
            self._sync()
            self._give_up_segment()

    def _append(self, frame: bytes) -> None:
        if len(frame) > MAX_RECORD_BYTES:  # whoever reads would stop there
            raise OSError(f"a record has {len(frame)} bytes")
        if self._descriptor < 0 or self._size + len(frame) > self._segment_bytes:
            self._start_segment()
        written = os.write(self._descriptor, frame)
        self._size += written
        self._unsynced = True
        if written != len(frame):
            # Whatever follows a torn frame could not be read, so this segment ends here.
            self._start_segment()
            _write_whole(self._descriptor, frame)
            self._size += len(frame)

    def _start_segment(self) -> None:
        self._sync()
        self._give_up_segment()
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _folder_size(self._folder) > self._folder_bytes:
            raise OSError(f"the spool holds more than {self._folder_bytes} bytes")
        segment = str(uuid.uuid4())
        head = json.dumps({"spool": 2, "segment": segment, "node": self._node}).encode() + b"\n"
        self._descriptor, self._size = _create(self._folder / f"{segment}{SUFFIX}", head), len(head)

    def _give_up_segment(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            with suppress(OSError):
                os.close(descriptor)

    def _sync(self) -> None:
        if self._descriptor >= 0 and self._unsynced:
            self._unsynced = False
            os.fdatasync(self._descriptor)

    def _sync_until_closed(self) -> None:
        while not self._stop.wait(_SYNC_SECONDS):
            try:
                self._sync_outside_lock()
            except OSError as error:
                logger.error("access log: not synced: %s", error)  # noqa: TRY400 - the words say it all
                with self._lock:
                    self._give_up_segment()

    def _sync_outside_lock(self) -> None:
        """Sync a duplicate of the descriptor, so that no answer waits for the disk."""
        with self._lock:
            if self._descriptor < 0 or not self._unsynced:
                return
            self._unsynced = False
            descriptor = os.dup(self._descriptor)
        try:
            os.fdatasync(descriptor)
        finally:
            os.close(descriptor)


def _create(path: Path, head: bytes) -> int:
    """Return the descriptor of a new segment, which nobody sees before it is locked and has its head."""
    unseen = path.with_suffix(".new")
    descriptor = os.open(unseen, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        _write_whole(descriptor, head)
        unseen.rename(path)
    except OSError:
        os.close(descriptor)
        unseen.unlink(missing_ok=True)
        raise
    return descriptor


def _write_whole(descriptor: int, data: bytes) -> None:
    if os.write(descriptor, data) != len(data):
        raise OSError("the disk took a part only")


def _folder_size(folder: Path) -> int:
    size = 0
    for entry in os.scandir(folder):
        with suppress(FileNotFoundError):  # shipped in this moment
            size += entry.stat().st_size
    return size


def segment_files(folder: Path) -> list[Path]:
    """Return the segments in the spool, the oldest first."""
    if not folder.is_dir():
        return []
    return sorted(folder.glob(f"*{SUFFIX}"), key=lambda path: path.stat().st_mtime_ns)


def is_being_written(path: Path) -> bool:
    """True while the process that writes the segment lives."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
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


def read_records(path: Path) -> Iterator[AccessRecord]:
    """Yield the intact records of a segment."""
    segment = segment_of(path)
    data = read_from(path, segment.first, 2 * _SEGMENT_BYTES) if segment else b""
    for frame in frames(data, 0):
        try:
            if frame.record is not None and Gap.from_bytes(frame.record) is None:
                yield AccessRecord.from_bytes(frame.record)
        except RecordRefused as error:
            logger.warning("access log: a record of %s is set aside: %s", path.name, error)
