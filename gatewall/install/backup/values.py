"""Portable column values: the same JSON for a row of SQLite and of PostgreSQL."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django.db import connection
from django.db.models import Field, Model

_UNCHANGED = "{}"
_POSTGRESQL = {
    "DateTimeField": "replace(to_char({} AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US'), '.000000', '')",
    "GenericIPAddressField": "host({})",
    "JSONField": "{}::text",
    "UUIDField": "replace({}::text, '-', '')",
}
_SQLITE = {"DateTimeField": "CAST({} AS TEXT)"}  # without a cast, Django parses it
_PLAIN = frozenset(
    {
        *("AutoField", "BigAutoField", "BigIntegerField", "BooleanField", "CharField", "FloatField", "IntegerField"),
        *("PositiveBigIntegerField", "PositiveIntegerField", "PositiveSmallIntegerField", "SmallIntegerField"),
        "TextField",
    }
)
"""Columns that both databases return as the same JSON value. The other kinds are text, as SQLite stores them."""
_AT_ONCE = 2_000


@dataclass(frozen=True)
class Column:
    """A column and the kind of its field."""

    name: str
    kind: str


@dataclass(frozen=True)
class Table:
    """A table of a state of the schema."""

    name: str
    model: type[Model]
    columns: tuple[Column, ...]

    @property
    def key(self) -> Column | None:
        """Return the column of the primary key that the database numbers, or None."""
        meta = self.model._meta  # noqa: SLF001 - public by its documentation
        keys = [column for column in self.columns if column.name == meta.pk.column]
        return keys[0] if keys and keys[0].kind.endswith("AutoField") else None


def table_of(model: type[Model]) -> Table:
    """Return the table of a model. Raises TypeError for a kind of column that has no portable form."""
    fields = model._meta.concrete_fields  # noqa: SLF001 - public by its documentation
    columns = tuple(Column(str(field.column), _kind_of(field)) for field in fields)
    for column in columns:
        if column.kind not in _PLAIN | _POSTGRESQL.keys():
            raise TypeError(f"{model.__name__}.{column.name}: a backup knows no {column.kind}")
    return Table(model._meta.db_table, model, columns)  # noqa: SLF001 - public by its documentation


def _kind_of(field: Any) -> str:
    """Return the kind of a field; of a foreign key, the kind of its target."""
    while field.remote_field is not None:
        field = field.target_field
    kind: str = field.get_internal_type() if isinstance(field, Field) else ""
    return kind


def read_rows(table: Table) -> Iterator[list[Any]]:
    """Yield the rows of a table as lists of JSON values, in bounded memory."""
    forms = _POSTGRESQL if connection.vendor == "postgresql" else _SQLITE
    columns = (forms.get(column.kind, _UNCHANGED).format(_quoted(column.name)) for column in table.columns)
    with connection.chunked_cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(columns)} FROM {_quoted(table.name)}")  # noqa: S608 - our own names
        while rows := cursor.fetchmany(_AT_ONCE):
            yield from map(list, rows)


def write_rows(table: str, columns: Iterable[str], rows: Iterable[list[Any]]) -> int:
    """Insert rows as ``read_rows`` yields them; return how many. Raises django.db.Error."""
    names = [_quoted(name) for name in columns]
    insert = _copy if connection.vendor == "postgresql" else _insert
    return insert(_quoted(table), names, rows)


def _copy(table: str, names: list[str], rows: Iterable[list[Any]]) -> int:
    number = 0
    statement = f"COPY {table} ({', '.join(names)}) FROM STDIN"
    with connection.cursor() as cursor, connection.wrap_database_errors, cursor.copy(statement) as copy:
        for number, row in enumerate(rows, start=1):  # noqa: B007 - the last number counts
            copy.write_row(row)
    return number


def _insert(table: str, names: list[str], rows: Iterable[list[Any]]) -> int:
    statement = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join(['%s'] * len(names))})"  # noqa: S608
    number, rest = 0, iter(rows)
    with connection.cursor() as cursor:
        while batch := list(islice(rest, _AT_ONCE)):  # Django's executemany keeps all rows of a call in memory
            cursor.executemany(statement, batch)
            number += len(batch)
    return number


def _quoted(name: str) -> str:
    return connection.ops.quote_name(name)
