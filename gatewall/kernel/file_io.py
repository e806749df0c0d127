"""Atomic file replacement, folder sync (``fsync``) and file locks (``flock``). Pure: standard library only."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_FORGOTTEN_SECONDS = 60.0


def replace_file(path: Path, data: bytes, *, synced: bool) -> None:
    """Replace a file atomically; mode 0600. With ``synced``, data and name are on disk on return.

    Raises OSError and keeps the old file. A killed process leaves ``.NAME.PID``.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            if synced:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    if synced:
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Sync a folder's entries to disk. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_whole(descriptor: int, data: bytes) -> None:
    """Write all bytes in one call. Raises OSError on a short write."""
    if os.write(descriptor, data) != len(data):
        raise OSError("only part of the data was written to the disk")


def remove_if_forgotten(path: Path) -> None:
    """Remove the unfinished file of a killed process after a minute. Raises OSError.

    A process that was stopped for longer fails to rename it, and writes another one.
    """
    if abs(time.time() - path.stat().st_mtime) > _FORGOTTEN_SECONDS:
        path.unlink()


def try_lock(descriptor: int) -> bool:
    """Lock an open file exclusively; False if another process has the lock."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def try_lock_file(path: Path) -> int | None:
    """Return a descriptor that holds the lock of a file, created if missing; None if another process has it."""
    descriptor = open_lock(path)
    if try_lock(descriptor):
        return descriptor
    os.close(descriptor)
    return None


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file, created if missing, within the block. Blocks until it is free."""
    descriptor = open_lock(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def open_lock(path: Path) -> int:
    """Open a lock file, created if missing; mode 0600."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
