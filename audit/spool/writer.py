"""Append access records to this process's spool file before the response is sent. Pure.

One ``write`` per record, so that a killed process loses nothing; a thread calls ``fsync`` every 200 ms, so that a power
failure loses little. A file contains one segment: a head, then the frames of ``audit.spool.frames``. The writer keeps
its file locked: a torn frame at the end of an unlocked file shows where the process died.

The thread also creates the next segment in advance and syncs full ones, so that requests wait for neither.
"""

import logging
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock, Thread

from audit.spool.amendments import amendment_bytes
from audit.spool.frames import MAX_RECORD_BYTES, framed
from audit.spool.losses import LossCounter
from audit.spool.new_files import NewSegment, new_segment, remove_abandoned
from audit.spool.records import AccessRecord, EncodedRecord
from audit.spool.segments import SEGMENT_BYTES
from gatewall.kernel.file_io import write_whole

logger = logging.getLogger(__name__)

_FOLDER_BYTES = 1024 * 1024 * 1024
_SYNC_SECONDS = 0.2
_REST_SECONDS = 1.0
"""Maximum pause of the thread while nothing is written; the next record ends the pause."""
_CLOSE_SECONDS = 5.0
"""Maximum wait for the thread on exit, so that a hanging disk does not block the exit."""
_RETRY_SECONDS = 0.1  # not every request retries a full disk


class SpoolWriter:
    """Append the records of one process. Thread-safe; never raises.

    With ``sync``, a record is on disk when ``write`` returns; otherwise, it is in the kernel's cache.
    """

    def __init__(
        self,
        folder: Path,
        node: str,
        *,
        sync: bool = False,
        segment_bytes: int = SEGMENT_BYTES,
        folder_bytes: int = _FOLDER_BYTES,
    ) -> None:
        self._folder = folder
        self._node = node
        self._sync_each = sync
        self._segment_bytes = segment_bytes
        self._folder_bytes = folder_bytes
        self._lock = Lock()
        self._descriptor = -1
        self._size = 0
        self._unsynced = False
        self._next: NewSegment | None = None
        self._full: list[int] = []
        self._retry_at = 0.0
        self._stop = Event()
        self._rests = False
        self._written = Event()
        self._thread: Thread | None = None
        self._losses = LossCounter(folder, node)

    @property
    def lost(self) -> int:
        """Return the number of records that this process could not write."""
        return self._losses.count

    def write(self, record: AccessRecord | EncodedRecord) -> bool:
        """Append a record; return False if it is lost (and counted), or if syncing it failed."""
        frame = framed(record.to_bytes())
        with self._lock:
            if len(frame) > MAX_RECORD_BYTES:  # a reader would stop there
                return self._lose(record, f"a record has {len(frame)} bytes")
            try:
                self._append(frame)
            except OSError as error:
                self._give_up_segment()
                return self._lose(record, error)
            return not self._sync_each or self._sync_segment()

    def amend(self, decision_id: str, at: float, shadow: Mapping[str, object]) -> bool:
        """Append what the shadow policy would have answered; return False if it is lost, which is not counted."""
        with self._lock:
            try:
                self._append(framed(amendment_bytes(decision_id, at, shadow)))
            except OSError:
                self._give_up_segment()
                return False
            return True

    def is_usable(self) -> bool:
        """Return whether the last record was written, or the next record probably can be written."""
        with self._lock:
            try:
                if self._descriptor < 0:
                    self._start_segment()
            except OSError:
                return False
            return True

    def sync_regularly(self) -> None:
        self._thread = Thread(target=self._sync_until_closed, name="spool", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._written.set()
        if self._thread is not None:
            self._thread.join(_CLOSE_SECONDS)  # it may be creating an unneeded segment
        with self._lock:
            self._sync_segment()
            self._give_up_segment()
            if self._next is not None:
                self._next.remove()
                self._next = None
            self._losses.close()
        self._sync_full()

    def _lose(self, record: AccessRecord | EncodedRecord, why: object) -> bool:
        if not self._losses.count:
            logger.error("access log: records are being lost: %s", why)
        self._losses.add(record.at)
        return False

    def _append(self, frame: bytes) -> None:
        is_over = self._descriptor < 0 or self._size + len(frame) > self._segment_bytes
        if is_over and not self._switch_to_next():
            if time.monotonic() < self._retry_at:
                raise OSError("the last try failed a moment ago")
            self._retry_at = time.monotonic() + _RETRY_SECONDS
            self._start_segment()
            self._retry_at = 0.0
        written = os.write(self._descriptor, frame)
        self._size += written
        self._unsynced = True
        if self._rests:
            self._written.set()
        if written != len(frame):
            # Nothing after a torn frame could be read, so end this segment.
            self._start_segment()
            write_whole(self._descriptor, frame)
            self._size += len(frame)
            self._unsynced = True

    def _start_segment(self) -> None:
        self._sync_segment()
        self._give_up_segment()
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._losses.open()  # first, so that later failures are counted persistently
        _, self._descriptor, self._size = new_segment(self._folder, self._node, self._folder_bytes)

    def _switch_to_next(self) -> bool:
        """Switch from a full segment to the prepared one; return False if there is none."""
        following, self._next = self._next, None
        if following is None:
            return False
        if not following.is_there():
            os.close(following.descriptor)
            return False
        if self._descriptor >= 0:
            self._full.append(self._descriptor)
        _, self._descriptor, self._size = following
        return True

    def _give_up_segment(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            with suppress(OSError):
                os.close(descriptor)

    def _sync_segment(self) -> bool:
        """Sync the segment; return False on failure, and then no longer write to it."""
        if self._descriptor < 0 or not self._unsynced:
            return True
        self._unsynced = False
        try:
            os.fdatasync(self._descriptor)
        except OSError as error:
            self._abandon_segment(error)
            return False
        return True

    def _abandon_segment(self, error: OSError) -> None:
        """Close the segment: after a failed sync the kernel may have dropped data."""
        logger.error("access log: not synced: %s", error)
        self._give_up_segment()

    def _sync_until_closed(self) -> None:
        self._store_losses()
        with suppress(OSError):
            remove_abandoned(self._folder)
        while not self._stop.wait(_SYNC_SECONDS):
            self._sync_full()
            self._sync_outside_lock()
            self._create_next()
            self._store_losses()
            self._rest()

    def _rest(self) -> None:
        """Wait for the next record, for a limited time, without missing one that is written meanwhile."""
        self._written.clear()
        self._rests = True
        if not (self._unsynced or self._stop.is_set()):
            self._written.wait(_REST_SECONDS)
        self._rests = False

    def _create_next(self) -> None:
        """Create the next segment, outside of the lock, because this waits for the disk."""
        with self._lock:
            is_due = self._descriptor >= 0 and 2 * self._size >= self._segment_bytes
            if self._stop.is_set() or self._next is not None or not is_due:
                return
        try:
            made = new_segment(self._folder, self._node, self._folder_bytes)
        except OSError:
            return  # the request that needs the next segment retries, and logs why
        with self._lock:
            if not self._stop.is_set():
                self._next = made
                return
        made.remove()

    def _sync_full(self) -> None:
        """Sync and close full segments; until then they count as being written."""
        with self._lock:
            full, self._full = self._full, []
        for descriptor in full:
            try:
                os.fdatasync(descriptor)
            except OSError as error:
                logger.error("access log: not synced: %s", error)  # noqa: TRY400 - the message says everything
            finally:
                os.close(descriptor)

    def _store_losses(self) -> None:
        """Create the counter file before the disk is full, and store pending losses."""
        with self._lock, suppress(OSError):
            if not self._stop.is_set():
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._losses.open()

    def _sync_outside_lock(self) -> None:
        """Sync a duplicate of the descriptor, so that no request waits for the disk."""
        with self._lock:
            if self._descriptor >= 0 and not os.fstat(self._descriptor).st_nlink:
                logger.error("access log: the spool was removed, with the records in it")
                self._give_up_segment()  # records in a removed file would not be shipped
            if self._descriptor < 0 or not self._unsynced:
                return
            try:
                descriptor = os.dup(self._descriptor)
            except OSError:  # retried in the next turn
                return
            self._unsynced = False
        try:
            os.fdatasync(descriptor)
        except OSError as error:
            with self._lock:
                self._abandon_segment(error)
        finally:
            os.close(descriptor)
