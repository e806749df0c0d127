"""A key ring in its file: read and replaced by one process at a time. Standard library only."""

import fcntl
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from gatewall.credentials.keyring import KeyRing


class RotationRunning(Exception):
    """Another process holds the key files."""


@contextmanager
def held(paths: Iterable[Path]) -> Iterator[None]:
    """Keep other rotations away from these files.

    Raises RotationRunning at once if there is one, and OSError for a folder that cannot be opened.
    """
    with ExitStack() as stack:
        # The folder is locked, so that no lock file with an owner of its own stays behind.
        for folder in sorted({path.resolve().parent for path in paths}):
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            stack.callback(os.close, descriptor)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RotationRunning from None
        yield


def read(path: Path) -> KeyRing:
    """Return the ring of a file. Raises OSError, UnicodeDecodeError or KeyRingRefused."""
    return KeyRing.parse(path.read_text(encoding="utf-8").strip())


def is_writable(path: Path) -> bool:
    """True if ``write`` may replace this file."""
    file = path.resolve()
    return os.access(file.parent, os.W_OK | os.X_OK) and os.geteuid() in {0, file.stat().st_uid}


def write(path: Path, ring: KeyRing) -> None:
    """Replace the ring of a file, which is there whole before and after; mode 0600, its owner kept. Raises OSError.

    The file behind a symbolic link is replaced, not the link.
    """
    file = path.resolve()
    prefix = f".{file.name}.rotated."
    for left_behind in file.parent.glob(f"{prefix}*"):  # by a rotation that was killed: it holds keys
        left_behind.unlink()
    descriptor, name = tempfile.mkstemp(prefix=prefix, dir=file.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "w") as new:
            owner = file.stat()
            if owner.st_uid != os.geteuid():
                os.fchown(new.fileno(), owner.st_uid, owner.st_gid)  # root rotates for the user of the service
            new.write(ring.text() + "\n")
            new.flush()
            os.fsync(new.fileno())
        temporary.replace(file)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(file.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
