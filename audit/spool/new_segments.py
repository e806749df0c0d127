"""Create spool segments for a writer. Pure."""

import json
import os
import uuid
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from audit.spool import unnamed
from audit.spool.segments import SUFFIX


class NewSegment(NamedTuple):
    """An open segment with no record in it: its file, and how much its head takes."""

    path: Path
    descriptor: int
    size: int

    def is_there(self) -> bool:
        """True unless somebody has removed the file."""
        return os.fstat(self.descriptor).st_nlink > 0

    def remove(self) -> None:
        """Let go of it, unused."""
        with suppress(OSError):  # a disk that cannot be written any more
            self.path.unlink()
        os.close(self.descriptor)


def new_segment(folder: Path, node: str, folder_bytes: int) -> NewSegment:
    """Return a new segment, name and head on the disk. Raises OSError, also where the spool holds more than that."""
    if _folder_size(folder) > folder_bytes:
        raise OSError(f"the spool holds more than {folder_bytes} bytes")
    segment = str(uuid.uuid4())
    head = json.dumps({"spool": 2, "segment": segment, "node": node}).encode() + b"\n"
    path = folder / f"{segment}{SUFFIX}"
    return NewSegment(path, _create(path, head), len(head))


def write_whole(descriptor: int, data: bytes) -> None:
    """Write all of it. Raises OSError where a part of it was written."""
    if os.write(descriptor, data) != len(data):
        raise OSError("the disk took a part only")


def _create(path: Path, head: bytes) -> int:
    """Return the descriptor of a new segment, which nobody sees before it is locked and has its head."""
    unseen = path.with_suffix(unnamed.SUFFIX)
    descriptor = unnamed.create(unseen, os.O_WRONLY | os.O_APPEND)
    try:
        write_whole(descriptor, head)
        os.fdatasync(descriptor)  # a name without its head would count as a damaged record after a power failure
        unseen.rename(path)
        _sync_folder(path.parent)
    except OSError:
        os.close(descriptor)
        unseen.unlink(missing_ok=True)
        raise
    return descriptor


def _sync_folder(folder: Path) -> None:
    """Bring the name of a new file to disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _folder_size(folder: Path) -> int:
    size = 0
    for entry in os.scandir(folder):
        with suppress(FileNotFoundError):  # shipped in this moment
            size += entry.stat().st_size
    return size
