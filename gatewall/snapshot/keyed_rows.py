"""Sorted key-value table in one memory-mappable buffer: keys, offsets, JSON rows. Rows are parsed on access. Pure."""

import struct
import sys
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, ValuesView
from typing import Any, Final, Generic, TypeVar

_HEADER = struct.Struct("=8sQ")
_MAGIC = b"rows key" if sys.byteorder == "little" else b"yek swor"
_KEY: Final = "Q"
_OFFSET: Final = "Q"
_WIDTH = 8

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


class KeyedRows(Mapping[Name, Row], Generic[Name, Row]):
    """Read-only mapping of names to rows; keeps its buffer alive."""

    __slots__ = ("_name", "_number", "_numbers", "_offsets", "_read", "_texts")

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
        return map(self._name, self._rows())

    def values(self) -> ValuesView[Row]:
        """Return the rows; each iteration parses them once."""
        return _Rows(self)

    def __getitem__(self, name: Name) -> Row:
        number = self._number(name)
        for index in range(bisect_left(self._numbers, number), len(self._numbers)):
            if self._numbers[index] != number:
                break
            row = self._row(index)
            if self._name(row) == name:
                return row
        raise KeyError(name)

    def _rows(self) -> Iterator[Row]:
        return map(self._row, range(len(self._numbers)))

    def _row(self, index: int) -> Row:
        return self._read(bytes(self._texts[self._offsets[index] : self._offsets[index + 1]]))


class _Rows(ValuesView[Row]):
    """Values view that parses rows in order instead of looking up each name."""

    _mapping: KeyedRows[Any, Row]

    def __iter__(self) -> Iterator[Row]:
        return self._mapping._rows()  # noqa: SLF001 - its view
