"""Export of a log as NDJSON or CSV, row by row."""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

FORMATS = {"ndjson": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}
# Formulas begin with = + - @, their full-width forms, or white space that spreadsheets skip (OWASP, "CSV Injection").
_FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20\t\r\n")
# Some spreadsheets split cells at semicolons or other separators, even inside quotes.
_FORMULA_INSIDE = re.compile('([;|\t\r\n])(?=[ "]*[=+@\uff1d\uff0b\uff0d\uff20-])')


def lines(rows: Iterable[Mapping[str, Any]], kind: str, names: Sequence[str]) -> Iterator[bytes]:
    """Yield JSON-compatible rows as lines of this format; ``names``: the columns in order."""
    if kind == "ndjson":
        return (json.dumps(row, separators=(",", ":")).encode("ascii") + b"\n" for row in rows)
    return _csv(rows, names)


def _csv(rows: Iterable[Mapping[str, Any]], names: Sequence[str]) -> Iterator[bytes]:
    yield _line(names)
    for row in rows:
        yield _line([_cell(row[name]) for name in names])


def _line(cells: Sequence[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow(cells)  # RFC 4180
    return text.getvalue().encode()


def _cell(value: Any) -> str:
    """Return a value as a cell that spreadsheets do not evaluate as a formula (CSV injection)."""
    text = "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = _FORMULA_INSIDE.sub(r"\1'", text)
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA) else text
