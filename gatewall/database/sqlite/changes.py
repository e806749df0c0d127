"""Whether the database has changed since the last look, without reading a row."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import Error, connection

LONGEST_SECONDS = 20.0
"""After so long every look says that the database may have changed: a bound for what no counter shows."""


class DatabaseChanges:
    """Looks at SQLite's counter of commits by other connections (``PRAGMA data_version``), in the thread that made it.

    What this thread writes counts as well, except within ``uncounted()``. Other databases may always have changed.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: tuple[Any, ...] | None = None
        self._uncounted = 0
        self._said_at = float("-inf")
        self._changed_at = float("-inf")

    def look(self) -> bool:
        """Return whether the database may have changed since the last look."""
        before, self._seen, now = self._seen, self._state(), self._clock()
        if self._seen is None or self._seen != before:
            self._changed_at = self._said_at = now
            return True
        if now - self._said_at >= LONGEST_SECONDS:
            self._said_at = now
            return True
        return False

    def quiet_seconds(self) -> float:
        """Return how long no look has seen a change; 0 where this cannot be told."""
        return self._clock() - self._changed_at if self._seen is not None else 0.0

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        """Do not count what this thread writes within the block."""
        before = _rows_written()
        try:
            yield
        finally:
            self._uncounted += _rows_written() - before

    def _state(self) -> tuple[Any, ...] | None:
        """Return the connection and its counters; None if unknown."""
        if connection.vendor != "sqlite" or connection.is_in_memory_db():  # type: ignore[attr-defined] # SQLite's backend
            return None
        try:
            with connection.cursor() as cursor:
                cursor.execute("PRAGMA data_version")
                ((version,),) = cursor.fetchall()
        except Error:
            return None
        return connection.connection, version, _rows_written() - self._uncounted


def _rows_written() -> int:
    """Return how many rows this thread's connection has written; 0 without one."""
    return getattr(connection.connection, "total_changes", 0)
