"""Watch a folder with inotify and wake a thread when a file is replaced. Pure.

Policy and reports of workers are files that are renamed into their place. Who waits for one looks at it anyway, at
fixed intervals; the kernel only makes the look come at once. Where it cannot (no Linux, no inotify left for this
user), the intervals remain.
"""

import ctypes
import os
import select
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_IN_MOVED_TO = 0x80
_FLAGS = os.O_NONBLOCK | os.O_CLOEXEC
_EVENTS_BYTES = 65536


class FolderWatch:
    """Waits for files that get their names in some folders."""

    def __init__(self, *folders: Path) -> None:
        """Take the folders; one that is missing is watched as soon as it is there."""
        self._folders = [os.fsencode(folder) for folder in folders]
        self._libc = ctypes.CDLL(None)
        self._descriptor = self._start()
        self._watch()

    def wait(self, seconds: float) -> None:
        """Return when a file was put in place since the last call, or after this time."""
        if self._descriptor < 0:
            time.sleep(seconds)
            return
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        if poll.poll(seconds * 1000):
            os.read(self._descriptor, _EVENTS_BYTES)
        self._watch()

    def close(self) -> None:
        """Let go of the kernel's watch; ``wait`` sleeps from now on."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _start(self) -> int:
        try:
            descriptor: int = self._libc.inotify_init1(_FLAGS)
        except AttributeError:  # no Linux
            return -1
        return descriptor

    def _watch(self) -> None:
        """Have each folder watched, which for one that is watched already changes nothing."""
        for folder in self._folders if self._descriptor >= 0 else ():
            self._libc.inotify_add_watch(self._descriptor, folder, _IN_MOVED_TO)


@contextmanager
def watching(*folders: Path) -> Iterator[FolderWatch]:
    """Give a watch of these folders for as long as the block."""
    watch = FolderWatch(*folders)
    try:
        yield watch
    finally:
        watch.close()
