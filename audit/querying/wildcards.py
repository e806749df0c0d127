"""``*`` in a filter stands for any text. A lookup that both databases answer without a regular expression."""

import re
from typing import Any

from django.db.models import CharField, Lookup

MAX_STARS = 8
"""Each makes the databases go back over the text once more."""


@CharField.register_lookup
class Wildcard(Lookup):
    """``field__wildcard="/api/*"``: letter case counts; only ``*`` means something."""

    lookup_name = "wildcard"
    prepare_rhs = False

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        column, parameters = self.process_lhs(compiler, connection)
        return f"{column} LIKE %s ESCAPE '!'", (*parameters, _like(str(self.rhs)))

    def as_sqlite(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        column, parameters = self.process_lhs(compiler, connection)
        return f"{column} GLOB %s", (*parameters, _glob(str(self.rhs)))


def stars_in(text: str) -> int:
    """Return how many places of the text stand for any text; several stars in a row are one."""
    return len(re.findall(r"\*+", text))


def _like(text: str) -> str:
    for special in "!%_":
        text = text.replace(special, f"!{special}")
    return re.sub(r"\*+", "%", text)


def _glob(text: str) -> str:
    text = re.sub(r"\*+", "*", text)
    return "".join(f"[{character}]" if character in "?[" else character for character in text)
