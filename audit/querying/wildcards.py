"""Wildcard lookup: ``*`` matches any text, on both databases without regular expressions."""

import re
from typing import Any

from django.db.models import CharField, Lookup

MAX_STARS = 8
"""Each ``*`` adds backtracking in the databases."""


@CharField.register_lookup
class Wildcard(Lookup):
    """``field__wildcard="/api/*"``: case-sensitive; only ``*`` is special."""

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
