"""Sharded lookup table: find a row in the shard of its key. Pure."""

from collections.abc import Callable, Iterator, Mapping, ValuesView
from itertools import chain
from typing import Any, Generic, TypeVar

_REMEMBERED = 4096

Name = TypeVar("Name")
Row = TypeVar("Row")


class Sharded(Mapping[Name, Row], Generic[Name, Row]):
    """Read-only mapping over all shards; caches the last few thousand rows."""

    __slots__ = ("_recent", "_shard_of", "_shards")

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

    def values(self) -> ValuesView[Row]:
        """Return the rows; each iteration parses them once and caches none."""
        return _Rows(self)

    def __len__(self) -> int:
        return sum(map(len, self._shards.values()))


class _Rows(ValuesView[Row]):
    """Values view that iterates the shards instead of looking up each name."""

    _mapping: Sharded[Any, Row]

    def __iter__(self) -> Iterator[Row]:
        return chain.from_iterable(table.values() for table in self._mapping._shards.values())  # noqa: SLF001 - its view
