"""The access log as a download: NDJSON or CSV, a row at a time."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

FORMATS = {"ndjson": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def lines(rows: Iterable[Mapping[str, Any]], kind: str) -> Iterator[bytes]:
    """Yield the rows, already JSON-plain, as lines of this format."""
    yield from _ndjson(rows) if kind == "ndjson" else _csv(rows)


def _ndjson(rows: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    for row in rows:
        yield json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _csv(rows: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    names: list[str] | None = None
    for row in rows:
        if names is None:
            names = list(row)
            yield _line(names)
        yield _line([_cell(row[name]) for name in names])


def _line(cells: list[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow(cells)  # RFC 4180
    return text.getvalue().encode()


def _cell(value: Any) -> str:
    """Return a value as a cell that no spreadsheet takes for a formula: what a visitor sent may look like one."""
    text = "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"'{text}" if text.startswith(_FORMULA) else text
