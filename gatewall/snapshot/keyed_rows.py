"""Tables of rows by key: sorted in one memory-mappable buffer (keys, offsets, JSON rows), or in shards. Pure."""

import struct
import sys
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, ValuesView
from itertools import chain
from typing import Any, Final, Generic, TypeVar

_HEADER = struct.Struct("=8sQ")
_MAGIC = b"rows key" if sys.byteorder == "little" else b"yek swor"
_KEY: Final = "Q"
_OFFSET: Final = "Q"
_WIDTH = 8
_REMEMBERED = 4096

Name = TypeVar("Name")
Row = TypeVar("Row")


class KeyedRowsRefused(ValueError):
    """The bytes are not a table packed on a machine with this byte order."""


def pack(rows: Iterable[tuple[int, bytes]]) -> bytes:
    """Serialize rows of (number below 2**64, text); numbers may repeat."""
    ordered = sorted(rows, key=lambda row: row[0])
    offsets = array(_OFFSET, [0])
    for _, text in ordered:
        offsets.append(offsets[-1] + len(text))
    numbers = array(_KEY, [number for number, _ in ordered])
    texts = (text for _, text in ordered)
    return b"".join([_HEADER.pack(_MAGIC, len(ordered)), numbers.tobytes(), offsets.tobytes(), *texts])


class _Table(Mapping[Name, Row], Generic[Name, Row]):
    """Read-only mapping whose values are iterated in order instead of looking up each name."""

    def values(self) -> ValuesView[Row]:
        """Return the rows; each iteration parses them once and caches none."""
        return _Rows(self)

    def rows(self) -> Iterator[Row]:
        raise NotImplementedError


class _Rows(ValuesView[Row]):
    _mapping: _Table[Any, Row]

    def __iter__(self) -> Iterator[Row]:
        return self._mapping.rows()


class KeyedRows(_Table[Name, Row]):
    """Mapping of names to rows, which are parsed on access; keeps its buffer alive."""

    def __init__(
        self,
        buffer: bytes | memoryview,
        *,
        number: Callable[[Name], int],
        name: Callable[[Row], Name],
        read: Callable[[bytes], Row],
    ) -> None:
        """Open a packed table: ``number`` maps a name to its sort key, ``name`` a row to its name; ``read`` parses one.

        Raises KeyedRowsRefused. Checks sizes only, and each row when it is read: the caller has checked the digest.
        """
        view = memoryview(buffer)
        magic, count = _HEADER.unpack_from(view) if len(view) >= _HEADER.size else (b"", 0)
        if magic != _MAGIC:
            raise KeyedRowsRefused("not a table of rows")
        texts = _HEADER.size + _WIDTH * (2 * count + 1)
        if len(view) < texts:
            raise KeyedRowsRefused("too short")
        self._numbers = view[_HEADER.size : _HEADER.size + _WIDTH * count].cast(_KEY)
        self._offsets = view[_HEADER.size + _WIDTH * count : texts].cast(_OFFSET)
        self._texts = view[texts:]
        if self._offsets[-1] != len(self._texts):
            raise KeyedRowsRefused("not of its size")
        self._number, self._name, self._read = number, name, read

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[Name]:
        return map(self._name, self.rows())

    def __getitem__(self, name: Name) -> Row:
        number = self._number(name)
        for index in range(bisect_left(self._numbers, number), len(self._numbers)):
            if self._numbers[index] != number:
                break
            row = self._row(index)
            if self._name(row) == name:
                return row
        raise KeyError(name)

    def rows(self) -> Iterator[Row]:
        return map(self._row, range(len(self._numbers)))

    def _row(self, index: int) -> Row:
        return self._read(bytes(self._texts[self._offsets[index] : self._offsets[index + 1]]))


class Sharded(_Table[Name, Row]):
    """Mapping over all shards, each found by the key; caches the last few thousand rows."""

    def __init__(self, shards: Mapping[str, Mapping[Name, Row]], shard_of: Callable[[Name], str]) -> None:
        """``shards`` by the names that ``shard_of`` returns."""
        self._shards = dict(shards)
        self._shard_of = shard_of
        self._recent: dict[Name, Row] = {}

    def is_of(self, shards: Mapping[str, Mapping[Name, Row]]) -> bool:
        """True if its shards are these very tables."""
        return self._shards.keys() == shards.keys() and all(
            table is shards[name] for name, table in self._shards.items()
        )

    def __getitem__(self, name: Name) -> Row:
        row = self._recent.get(name)
        if row is None:
            row = self._shards[self._shard_of(name)][name]
            if len(self._recent) >= _REMEMBERED:
                self._recent.clear()
            self._recent[name] = row
        return row

    def __iter__(self) -> Iterator[Name]:
        for table in self._shards.values():
            yield from table

    def rows(self) -> Iterator[Row]:
        return chain.from_iterable(table.values() for table in self._shards.values())

    def __len__(self) -> int:
        return sum(map(len, self._shards.values()))
