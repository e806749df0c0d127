"""Prepared queries: Django compiles the SQL once per connection, as compiling can take longer than running it."""

import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import QuerySet
from django.db.models.query import get_related_populators

_ATTRIBUTE = "gatewall_prepared"
Row = TypeVar("Row")


class _Compiled(NamedTuple):
    """A compiled statement, its fixed parameters, and the converter of its rows."""

    sql: str
    fixed: tuple[Any, ...]
    read: Callable[[Iterable[Any]], Iterator[Any]]


class Prepared(Generic[Row]):
    """A query whose SQL is compiled once; ``make`` builds it from values, the parameters of its statement in order.

    The values are numbers, strings or UUIDs. The statement is compiled for the first values and run with all others, so
    ``make`` must build the same query for all values, without ``prefetch_related``, annotations or ``only``.
    """

    def __init__(self, make: Callable[..., QuerySet[Any, Row]]) -> None:
        self._make = make

    def first(self, *values: Any) -> Row | None:
        """Return the row, or None; for a query that matches at most one. Raises django.db.Error."""
        return next(self(*values), None)

    def __call__(self, *values: Any) -> Iterator[Row]:
        """Run the query and return an iterator over its rows, all of which are in memory. Raises django.db.Error."""
        connection = connections[DEFAULT_DB_ALIAS]
        parameters = [_adapted(each, connection) for each in values]
        known: dict[Prepared[Any], _Compiled] = vars(connection).setdefault(_ATTRIBUTE, {})
        compiled = known.get(self)
        if compiled is None:
            compiled = _compile(self._make(*values), parameters)
            if len(set(parameters)) == len(parameters):  # equal values do not show the order of the parameters
                known[self] = compiled
        with connection.cursor() as cursor:
            cursor.execute(compiled.sql, parameters or compiled.fixed)
            rows = cursor.fetchall()
        return compiled.read(rows)


def _adapted(value: Any, connection: Any) -> Any:
    """Return a value in the form that the database driver takes."""
    return value.hex if isinstance(value, uuid.UUID) and not connection.features.has_native_uuid_field else value


def _compile(queryset: QuerySet[Any, Any], parameters: list[Any]) -> _Compiled:
    """Return the statement of a query. Raises TypeError if its parameters differ from these."""
    compiler: Any = queryset.query.get_compiler(using=DEFAULT_DB_ALIAS)
    sql, fixed = compiler.as_sql()
    if parameters and list(fixed) != parameters:
        raise TypeError(f"the values are not the parameters of the statement: {sql}")
    converters = compiler.get_converters([each for each, *_ in compiler.select])

    def converted(rows: Iterable[Any]) -> Iterator[Any]:
        return map(tuple, compiler.apply_converters(rows, converters) if converters else rows)

    read = _instances(compiler, converted) if queryset.query.default_cols else converted
    return _Compiled(sql, () if parameters else tuple(fixed), read)  # the first values are not defaults for later calls


def _instances(compiler: Any, converted: Callable[[Iterable[Any]], Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    """Return a function that makes model instances of rows, as ``django.db.models.query.ModelIterable`` does."""
    select, info = compiler.select, compiler.klass_info
    begin, end = info["select_fields"][0], info["select_fields"][-1] + 1
    names = [each.target.attname for each, *_ in select[begin:end]]
    related = get_related_populators(info, select, DEFAULT_DB_ALIAS)  # type: ignore[call-arg]  # stubs of a later Django

    def read(rows: Iterable[Any]) -> Iterator[Any]:
        for row in converted(rows):
            made = info["model"].from_db(DEFAULT_DB_ALIAS, names, row[begin:end])
            for each in related:
                each.populate(row, made)
            yield made

    return read
