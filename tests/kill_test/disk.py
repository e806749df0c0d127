"""A small disk that can be full or read-only: a tmpfs that only the processes started inside it see."""

import errno
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_HOLDER = 'mount -t tmpfs -o "size=$1,mode=0700" tmpfs "$0" && echo mounted && exec cat'
_BLOCK = 4096


class NoMount(Exception):
    """This machine lets us mount nothing, not even for ourselves."""


class SmallDisk:
    """A folder that is a file system of its own for all commands that ``inside`` stands before."""

    def __init__(self, holder: int, folder: Path) -> None:
        self._holder = holder
        self._folder = folder
        self.seen = Path(f"/proc/{holder}/root{folder}")
        """The folder, as it is seen from here."""
        enter = ["nsenter", "--target", str(holder), "--mount", *_as_root("--user", "--preserve-credentials")]
        self.inside = [*enter, "sh", "-c", 'cd "$0" && exec "$@"', str(Path.cwd())]

    def fill(self) -> None:
        """Leave no block free."""
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
        """Give back what ``fill`` took."""
        (self.seen / "ballast").unlink(missing_ok=True)

    def remount(self, mode: str) -> None:
        """Make it read-only (``ro``), which needs that nobody has a file open for writing, or writable (``rw``)."""
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
            holder.stdin.close()  # it ends with us, however we end


def _as_root(*options: str) -> tuple[str, ...]:
    """What only somebody who is not root needs."""
    return options if os.geteuid() != 0 else ()
