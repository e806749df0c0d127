"""Read and atomically replace a key ring file, one process at a time. Standard library only."""

import fcntl
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from gatewall.credentials.keyring import KeyRing


class RotationRunning(Exception):
    """Another process is rotating the keys."""


@contextmanager
def held(paths: Iterable[Path]) -> Iterator[None]:
    """Lock these files against other rotations, without waiting. Raises RotationRunning, OSError."""
    with ExitStack() as stack:
        # Lock the folder, so that no lock file of another owner is left behind.
        for folder in sorted({path.resolve().parent for path in paths}):
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            stack.callback(os.close, descriptor)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RotationRunning from None
        yield


def read(path: Path) -> KeyRing:
    """Read a key ring. Raises OSError, UnicodeDecodeError or KeyRingRefused."""
    return KeyRing.parse(path.read_text(encoding="utf-8").strip())


def is_writable(path: Path) -> bool:
    """True if ``write`` may replace the file."""
    file = path.resolve()
    return os.access(file.parent, os.W_OK | os.X_OK) and os.geteuid() in {0, file.stat().st_uid}


def write(path: Path, ring: KeyRing) -> None:
    """Replace a key ring file atomically; mode 0600, owner kept, symbolic links followed. Raises OSError."""
    file = path.resolve()
    prefix = f".{file.name}.rotated."
    for left_behind in file.parent.glob(f"{prefix}*"):  # of a killed rotation: it contains keys
        left_behind.unlink()
    descriptor, name = tempfile.mkstemp(prefix=prefix, dir=file.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "w") as new:
            owner = file.stat()
            if owner.st_uid != os.geteuid():
                os.fchown(new.fileno(), owner.st_uid, owner.st_gid)  # root may rotate for the service's user
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
