"""Diff of two versions of a list, on disk: handles a million entries in bounded memory. Pure."""

import errno
import sqlite3
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Self

Entry = tuple[str, int | None, str]
"""Network in canonical form, expiry in seconds since the epoch, remark."""
Row = tuple[int, str, int | None, str]
"""The id of the row, then the fields of ``Entry``."""

_TABLES = """
PRAGMA journal_mode = OFF; -- nobody needs it after a crash
PRAGMA cache_size = -65536; -- 64 MiB: networks come in any order
CREATE TABLE wanted (network TEXT PRIMARY KEY, expires INTEGER, remark TEXT) WITHOUT ROWID;
CREATE TABLE present (id INTEGER, network TEXT PRIMARY KEY, expires INTEGER, remark TEXT) WITHOUT ROWID;
"""
_DIFFERS = "(present.expires IS NOT wanted.expires OR present.remark <> wanted.remark)"


class ListDiff:
    """The new and the existing entries of a list, in a temporary SQLite file; a context manager.

    Raises OSError at the end of the block if SQLite failed, for example because the disk is full.
    """

    def __init__(self) -> None:
        self._scratch = sqlite3.connect("", isolation_level=None)  # "": a temporary file, gone when closed
        self._scratch.executescript(_TABLES)
        self._scratch.execute("BEGIN")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._scratch.close()
        if isinstance(error, sqlite3.Error):
            raise OSError(errno.EIO, f"the list cannot be compared with what is there ({error})") from None

    def want(self, entry: Entry) -> bool:
        """Add an entry of the new list; return False if its network was added before."""
        return self._scratch.execute("INSERT OR IGNORE INTO wanted VALUES (?, ?, ?)", entry).rowcount == 1

    def load_existing(self, rows: Iterable[Row]) -> None:
        """Load the rows of the existing list, in place of rows loaded before."""
        self._scratch.execute("DELETE FROM present")
        self._scratch.executemany("INSERT INTO present VALUES (?, ?, ?, ?)", rows)

    def added(self) -> Iterator[Entry]:
        """Yield the entries that only the new list has."""
        yield from self._scratch.execute(
            "SELECT network, wanted.expires, wanted.remark FROM wanted LEFT JOIN present USING (network)"
            " WHERE present.network IS NULL"
        )

    def removed(self) -> Iterator[tuple[int, str]]:
        """Yield id and network of the rows that only the existing list has."""
        yield from self._scratch.execute(
            "SELECT present.id, network FROM present LEFT JOIN wanted USING (network) WHERE wanted.network IS NULL"
        )

    def changed(self) -> Iterator[Row]:
        """Yield the rows whose expiry or remark changes, with the new values."""
        yield from self._scratch.execute(
            "SELECT present.id, network, wanted.expires, wanted.remark"  # noqa: S608 - our own words
            f" FROM present JOIN wanted USING (network) WHERE {_DIFFERS}"
        )

    def kept(self) -> int:
        """Return the number of unchanged rows."""
        (count,) = self._scratch.execute(
            f"SELECT COUNT(*) FROM present JOIN wanted USING (network) WHERE NOT {_DIFFERS}"  # noqa: S608 - our own words
        ).fetchone()
        return int(count)
