"""Watch a folder with inotify and wake a thread when a file is replaced. Pure.

The policy and the workers' reports are files renamed into place. Callers poll them at fixed intervals anyway;
inotify only wakes them early. Without inotify (no Linux, or its limit reached), the polling remains.
"""

import ctypes
import os
import select
import time
from pathlib import Path

_IN_MOVED_TO = 0x80
_EVENTS_BYTES = 65536


class FolderWatch:
    """Waits for files to be renamed into some folders."""

    def __init__(self, *folders: Path) -> None:
        """Watch the folders; a missing one is watched once it exists."""
        self._folders = [os.fsencode(folder) for folder in folders]
        self._libc = ctypes.CDLL(None)
        try:
            self._descriptor: int = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        except AttributeError:  # no Linux
            self._descriptor = -1
        self._watch()

    @property
    def is_woken(self) -> bool:
        """True if a file that is renamed into place ends a wait early."""
        return self._descriptor >= 0

    def wait(self, seconds: float) -> None:
        """Return once a file was renamed into place since the last call, or after this many seconds."""
        if self._descriptor < 0:
            time.sleep(seconds)
            return
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        if poll.poll(seconds * 1000):
            os.read(self._descriptor, _EVENTS_BYTES)
        self._watch()

    def close(self) -> None:
        """Release the inotify descriptor; ``wait`` only sleeps afterwards."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _watch(self) -> None:
        """Watch each folder. Idempotent."""
        for folder in self._folders if self._descriptor >= 0 else ():
            self._libc.inotify_add_watch(self._descriptor, folder, _IN_MOVED_TO)
