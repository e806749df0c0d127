"""Lookups that work alike on both databases: ``*`` matches any text; a JSON list contains a value."""

import json
import re
from typing import Any

from django.db.models import BooleanField, CharField, F, Func, Lookup

MAX_STARS = 8
"""Each ``*`` adds backtracking in the databases."""


@CharField.register_lookup
class Wildcard(Lookup):
    """``field__wildcard="/api/*"``: case-sensitive; only ``*`` is special. No regular expressions."""

    lookup_name = "wildcard"
    prepare_rhs = False

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        column, parameters = self.process_lhs(compiler, connection)
        return f"{column} LIKE %s ESCAPE '!'", (*parameters, _like(str(self.rhs)))

    def as_sqlite(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        column, parameters = self.process_lhs(compiler, connection)
        return f"{column} GLOB %s", (*parameters, _glob(str(self.rhs)))


def stars_in(text: str) -> int:
    """Return the number of wildcards in the text; adjacent stars count once."""
    return len(re.findall(r"\*+", text))


def _like(text: str) -> str:
    for special in "!%_":
        text = text.replace(special, f"!{special}")
    return re.sub(r"\*+", "%", text)


def _glob(text: str) -> str:
    text = re.sub(r"\*+", "*", text)
    return "".join(f"[{character}]" if character in "?[" else character for character in text)


class ListHolds(Func):
    """``ListHolds("rules", "attack", part="name")``: an item of the list, or this part of an item, equals the value.

    ``key``: the list's key, if the column contains an object. False for NULL.
    """

    def __init__(self, column: str, value: str, *, key: str = "", part: str = "") -> None:
        super().__init__(F(column), output_field=BooleanField())
        self._value, self._key, self._part = value, key, part

    def __repr__(self) -> str:
        return f"ListHolds({self._key!r}, {self._value!r}, part={self._part!r})"

    @property
    def identity(self) -> tuple[Any, ...]:
        return (*super().identity, self._value, self._key, self._part)

    def as_sqlite(self, compiler: Any, connection: Any, **_: Any) -> tuple[str, tuple[Any, ...]]:
        column, parameters = compiler.compile(self.source_expressions[0])
        item = "json_extract(value, %s)" if self._part else "value"
        sought = [f"$.{self._part}"] if self._part else []
        path = f"$.{self._key}" if self._key else "$"
        sql = f"EXISTS (SELECT 1 FROM json_each({column}, %s) WHERE {item} = %s)"  # noqa: S608 - our own names
        return sql, (*parameters, path, *sought, self._value)

    def as_postgresql(self, compiler: Any, connection: Any, **_: Any) -> tuple[str, tuple[Any, ...]]:
        column, parameters = compiler.compile(self.source_expressions[0])
        held: Any = [{self._part: self._value} if self._part else self._value]
        if self._key:
            held = {self._key: held}
        return f"COALESCE({column} @> %s::jsonb, FALSE)", (*parameters, json.dumps(held))
