"""Create spool files under temporary names, locked by their writers. Pure."""

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from gatewall.kernel.file_io import try_lock, write_whole

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
    """Create a locked file whose head is written before it gets its name; return its descriptor. Raises OSError."""
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


def remove_abandoned(folder: Path) -> None:
    """Remove unlocked files, whose writers were killed. Raises OSError."""
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
