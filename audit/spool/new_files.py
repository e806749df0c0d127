"""Create spool files under temporary names, locked by their writers. Pure."""

import fcntl
import json
import os
import uuid
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from audit.spool.segments import SUFFIX as SEGMENT_SUFFIX
from gatewall.kernel.file_io import sync_folder, try_lock, write_whole

SUFFIX = ".new"


def create(path: Path, flags: int) -> int:
    """Create and lock a file; return its descriptor. Raises OSError."""
    while True:
        descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:
            os.close(descriptor)
            path.unlink(missing_ok=True)
            raise
        if os.fstat(descriptor).st_nlink:
            return descriptor
        os.close(descriptor)  # another process removed it as abandoned before the lock


def create_with_head(path: Path, head: bytes, flags: int) -> int:
    """Create a locked file, and write its head before it gets its final name; return the descriptor. Raises OSError."""
    unseen = path.with_suffix(SUFFIX)
    descriptor = create(unseen, flags)
    try:
        write_whole(descriptor, head)
        os.fdatasync(descriptor)  # otherwise the head could be missing after a power failure
        unseen.rename(path)
    except OSError:
        os.close(descriptor)
        unseen.unlink(missing_ok=True)
        raise
    return descriptor


class NewSegment(NamedTuple):
    """An open, empty segment: its file, and the size of its head."""

    path: Path
    descriptor: int
    size: int

    def is_there(self) -> bool:
        return os.fstat(self.descriptor).st_nlink > 0

    def remove(self) -> None:
        with suppress(OSError):  # the disk may no longer be writable
            self.path.unlink()
        os.close(self.descriptor)


def new_segment(folder: Path, node: str, folder_bytes: int) -> NewSegment:
    """Create a segment, with name and head synced. Raises OSError, also if the spool exceeds ``folder_bytes``."""
    if _folder_size(folder) > folder_bytes:
        raise OSError(f"the spool holds more than {folder_bytes} bytes")
    segment = str(uuid.uuid4())
    head = json.dumps({"spool": 2, "segment": segment, "node": node}).encode() + b"\n"
    path = folder / f"{segment}{SEGMENT_SUFFIX}"
    descriptor = create_with_head(path, head, os.O_WRONLY | os.O_APPEND)
    try:
        sync_folder(folder)
    except OSError:
        os.close(descriptor)
        raise
    return NewSegment(path, descriptor, len(head))


def _folder_size(folder: Path) -> int:
    size = 0
    for entry in os.scandir(folder):
        with suppress(FileNotFoundError):  # shipped meanwhile
            size += entry.stat().st_size
    return size


def remove_abandoned(folder: Path) -> None:
    """Remove unlocked files with temporary names: their writers were killed. Raises OSError."""
    for path in folder.glob(f"*{SUFFIX}"):
        with suppress(FileNotFoundError):  # renamed meanwhile
            _remove_if_abandoned(path)


def _remove_if_abandoned(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if try_lock(descriptor):
            path.unlink()
    finally:
        os.close(descriptor)
