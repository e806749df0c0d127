"""A small disk that can be full or read-only: a tmpfs in a mount namespace of the processes under test."""

import errno
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_HOLDER = 'mount -t tmpfs -o "size=$1,mode=0700" tmpfs "$0" && echo mounted && exec cat'
_BLOCK = 4096


class NoMount(Exception):
    """This user cannot create mount namespaces on this machine."""


class SmallDisk:
    """A tmpfs that commands prefixed with ``inside`` see."""

    def __init__(self, holder: int, folder: Path) -> None:
        self._holder = holder
        self._folder = folder
        self.seen = Path(f"/proc/{holder}/root{folder}")
        """Return the folder as seen from this process."""
        enter = ["nsenter", "--target", str(holder), "--mount", *_as_root("--user", "--preserve-credentials")]
        self.inside = [*enter, "sh", "-c", 'cd "$0" && exec "$@"', str(Path.cwd())]

    def fill(self) -> None:
        """Fill the disk completely."""
        descriptor = os.open(self.seen / "ballast", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            while True:
                os.write(descriptor, bytes(_BLOCK))
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
        finally:
            os.close(descriptor)

    def free(self) -> None:
        """Delete what ``fill`` has written."""
        (self.seen / "ballast").unlink(missing_ok=True)

    def remount(self, mode: str) -> None:
        """Remount read-only (``ro``; no file may be open for writing) or writable (``rw``)."""
        subprocess.run([*self.inside, "mount", "-o", f"remount,{mode}", str(self._folder)], check=True)


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[SmallDisk]:
    """Mount a disk of this size on a folder. Raises NoMount."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    command = ["unshare", "--mount", *_as_root("--map-root-user"), "sh", "-c", _HOLDER, str(folder), size]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stderr is not None
        try:
            if holder.stdout.readline() != b"mounted\n":
                raise NoMount(holder.stderr.read().decode(errors="replace").strip())
            yield SmallDisk(holder.pid, folder)
        finally:
            holder.stdin.close()  # ends even if this process is killed


def _as_root(*options: str) -> tuple[str, ...]:
    """Return additional options for users other than root."""
    return options if os.geteuid() != 0 else ()
