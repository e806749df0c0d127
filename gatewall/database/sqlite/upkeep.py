"""Keep SQLite files small: WAL checkpoints and freeing pages. Called by the agent only.

With several processes that checkpoint, SQLite up to 3.51 can lose a commit (sqlite.org/wal.html#walresetbug).
"""

import time

from django.db import connection, transaction

LONGEST_WAL_BYTES = 8 * 1024 * 1024
"""Larger logs are truncated, while writers wait briefly: under load there would be no pause between writers."""
_AGAIN_SECONDS = 5.0
"""Retry interval when a reader of an old state prevents the truncation."""
_READERS_MILLISECONDS = 50
_FREED_AT_ONCE = 256
_KEPT_FREE = 1_024
"""Free pages to keep for new rows; at least a tenth of the database."""


class Upkeep:
    """SQLite maintenance after each turn of the agent. Raises django.db.Error."""

    def __init__(self) -> None:
        self._truncated_at = float("-inf")

    def turn(self) -> None:
        """Checkpoint, and free some pages; no-op unless SQLite."""
        if connection.vendor != "sqlite":
            return
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(PASSIVE)")
            _, frames, _ = cursor.fetchone()
        if frames * _number("page_size") > LONGEST_WAL_BYTES and time.monotonic() - self._truncated_at > _AGAIN_SECONDS:
            _truncate_wal()
            self._truncated_at = time.monotonic()
        _free_pages()


def compact() -> tuple[int, int] | None:
    """Run VACUUM with incremental auto-vacuum from now on; return the sizes in bytes before and after.

    None unless SQLite. Blocks other writers. Raises django.db.Error, also within a transaction.
    """
    if connection.vendor != "sqlite":
        return None
    before = _number("page_count")
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA auto_vacuum=INCREMENTAL")
        cursor.execute("VACUUM")
    return before * _number("page_size"), _number("page_count") * _number("page_size")


def _truncate_wal() -> None:
    """Truncate the write-ahead log; give up soon if a reader still needs it."""
    with connection.cursor() as cursor:
        patience = _number("busy_timeout")
        cursor.execute(f"PRAGMA busy_timeout={_READERS_MILLISECONDS}")
        try:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            cursor.execute(f"PRAGMA busy_timeout={patience}")


def _free_pages() -> None:
    """Free some pages, if the database has incremental auto-vacuum."""
    if _number("freelist_count") <= max(_KEPT_FREE, _number("page_count") // 10):
        return
    if _number("auto_vacuum"):
        with transaction.atomic(), connection.cursor() as cursor:
            for _ in range(_FREED_AT_ONCE):
                cursor.execute("PRAGMA incremental_vacuum(1)")  # sqlite3 steps once, so larger numbers have no effect


def _number(pragma: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA {pragma}")
        number: int = cursor.fetchone()[0]
    return number
