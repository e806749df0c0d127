"""Diff of two versions of a list. Pure; on disk, so that a million entries fit."""

import errno
import sqlite3
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Self

Entry = tuple[str, int | None, str]
"""A network in its one spelling, its expiry in seconds since the epoch, its remark."""
Row = tuple[int, str, int | None, str]
"""The same with the id of its row in front."""

_TABLES = """
PRAGMA journal_mode = OFF; -- nobody needs it after a crash
PRAGMA cache_size = -65536; -- 64 MiB: networks come in any order
CREATE TABLE wanted (network TEXT PRIMARY KEY, expires INTEGER, remark TEXT) WITHOUT ROWID;
CREATE TABLE present (id INTEGER, network TEXT PRIMARY KEY, expires INTEGER, remark TEXT) WITHOUT ROWID;
"""
_DIFFERS = "(present.expires IS NOT wanted.expires OR present.remark <> wanted.remark)"


class ListDiff:
    """The entries that are wanted and those that are there, in a file of SQLite's that nobody else sees.

    At the end of the block, OSError is raised if the disk had no room for it.
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
        """Note an entry of the new list; False if it has this network already."""
        return self._scratch.execute("INSERT OR IGNORE INTO wanted VALUES (?, ?, ?)", entry).rowcount == 1

    def there_is(self, rows: Iterable[Row]) -> None:
        """Note the rows of the old list, in place of those noted before."""
        self._scratch.execute("DELETE FROM present")
        self._scratch.executemany("INSERT INTO present VALUES (?, ?, ?, ?)", rows)

    def added(self) -> Iterator[Entry]:
        """Yield what the old list has not."""
        yield from self._scratch.execute(
            "SELECT network, wanted.expires, wanted.remark FROM wanted LEFT JOIN present USING (network)"
            " WHERE present.network IS NULL"
        )

    def removed(self) -> Iterator[tuple[int, str]]:
        """Yield id and network of what the new list has not."""
        yield from self._scratch.execute(
            "SELECT present.id, network FROM present LEFT JOIN wanted USING (network) WHERE wanted.network IS NULL"
        )

    def changed(self) -> Iterator[Row]:
        """Yield the rows of which expiry or remark changes, as they are to be."""
        yield from self._scratch.execute(
            "SELECT present.id, network, wanted.expires, wanted.remark"  # noqa: S608 - our own words
            f" FROM present JOIN wanted USING (network) WHERE {_DIFFERS}"
        )

    def kept(self) -> int:
        """Return how many stay as they are."""
        (count,) = self._scratch.execute(
            f"SELECT COUNT(*) FROM present JOIN wanted USING (network) WHERE NOT {_DIFFERS}"  # noqa: S608 - our own words
        ).fetchone()
        return int(count)
