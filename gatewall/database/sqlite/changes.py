"""Detect whether the database has changed since the last check, without reading rows."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any

from django.db import Error, connection

LONGEST_SECONDS = 20.0
"""Interval after which ``look()`` returns True in any case: a bound for changes that the counter does not show."""


class DatabaseChanges:
    """Change detection by SQLite's commit counter (``PRAGMA data_version``), on a connection that never writes.

    The transactions of any thread within ``uncounted()`` do not count. Only one thread may call ``look()``, which
    returns True for other databases than SQLite.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._counter: _Counter | None = None
        self._seen: int | None = None
        self._has_changed = True
        self._reported_at = float("-inf")
        self._changed_at = float("-inf")

    def look(self) -> bool:
        """Return whether the database may have changed since the last look."""
        with self._lock:
            self._follow_connection()
            self._count_others()
            has_changed, self._has_changed = self._has_changed or self._seen is None, False
        now = self._clock()
        if has_changed:
            self._changed_at = self._reported_at = now
            return True
        if now - self._reported_at >= LONGEST_SECONDS:
            self._reported_at = now
            return True
        return False

    def quiet_seconds(self) -> float:
        """Return the seconds since ``look()`` last saw a change; 0 without a readable counter."""
        return self._clock() - self._changed_at if self._seen is not None else 0.0

    def close(self) -> None:
        """Close the connection; the next look opens another."""
        with self._lock:
            self._close()

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        """Do not count the transactions of this thread within the block, unless they call ``count_this_change()``."""
        if not _has_counter():
            yield
            return
        connection.ensure_connection()
        ours = connection.connection
        ours.observer = self
        try:
            yield
        finally:
            ours.observer = None

    def before_writing(self) -> None:
        """Record the commits of others. The caller holds the queue of writers until ``after_writing()``."""
        with self._lock:
            self._count_others()

    def after_writing(self, *, counts: bool) -> None:
        """Ignore the commits of the caller since ``before_writing()``, unless it ``counts``."""
        with self._lock:
            before = self._seen
            self._seen = self._version()
            self._has_changed |= counts and self._seen != before

    def _count_others(self) -> None:
        before, self._seen = self._seen, self._version()
        self._has_changed |= self._seen is None or self._seen != before

    def _version(self) -> int | None:
        if self._counter is None:
            return None
        try:
            return self._counter.read()
        except sqlite3.Error:
            return None

    def _follow_connection(self) -> None:
        """Open a new counter if this thread has reconnected: the database file may be another one."""
        if not _has_counter():
            self._close()
            return
        with suppress(Error):
            connection.ensure_connection()
        if self._counter is None or self._counter.thread_connection is not connection.connection:
            self._close()
            self._counter = _opened(connection.connection)

    def _close(self) -> None:
        if self._counter is not None:
            self._counter.close()
        self._counter, self._seen = None, None


class _Counter:
    """A connection that reads the commit counter; ``thread_connection`` is Django's at the time it was opened."""

    def __init__(self, thread_connection: Any, path: str) -> None:
        self.thread_connection = thread_connection
        self._connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)

    def read(self) -> int:
        ((version,),) = self._connection.execute("PRAGMA data_version").fetchall()
        return int(version)

    def close(self) -> None:
        self._connection.close()


def _opened(thread_connection: Any) -> _Counter | None:
    if thread_connection is None:
        return None
    try:
        return _Counter(thread_connection, str(connection.settings_dict["NAME"]))
    except sqlite3.Error:
        return None


def _has_counter() -> bool:
    return connection.vendor == "sqlite" and not connection.is_in_memory_db()  # type: ignore[attr-defined] # SQLite's backend


def count_this_change() -> None:
    """Count the transaction of this thread as a change, although it is committed within ``uncounted()``."""
    ours = connection.connection
    if getattr(ours, "observer", None) is not None:
        ours.counts = True
