"""Create spool segments for a writer. Pure."""

import json
import os
import uuid
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from audit.spool import unnamed
from audit.spool.segments import SUFFIX
from gatewall.kernel.file_io import sync_folder


class NewSegment(NamedTuple):
    """An open, empty segment: its file, and the size of its head."""

    path: Path
    descriptor: int
    size: int

    def is_there(self) -> bool:
        return os.fstat(self.descriptor).st_nlink > 0

    def remove(self) -> None:
        """Close and remove it, unused."""
        with suppress(OSError):  # the disk may no longer be writable
            self.path.unlink()
        os.close(self.descriptor)


def new_segment(folder: Path, node: str, folder_bytes: int) -> NewSegment:
    """Create a segment, with name and head synced. Raises OSError, also if the spool exceeds ``folder_bytes``."""
    if _folder_size(folder) > folder_bytes:
        raise OSError(f"the spool holds more than {folder_bytes} bytes")
    segment = str(uuid.uuid4())
    head = json.dumps({"spool": 2, "segment": segment, "node": node}).encode() + b"\n"
    path = folder / f"{segment}{SUFFIX}"
    descriptor = unnamed.create_with_head(path, head, os.O_WRONLY | os.O_APPEND)
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
