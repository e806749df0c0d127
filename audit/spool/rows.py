"""Convert access records to database rows: truncate long texts, reject invalid values. Pure."""

import json
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from operator import attrgetter
from typing import Any

import orjson

from audit.spool.records import FIELDS, NODE, AccessRecord, Field, Kind, RecordRefused, storable
from gatewall.engine.addresses import parse_address

RECORDED = tuple(field for field in FIELDS if field is not NODE)
COLUMNS = (*(column for field in RECORDED for column in field.columns), NODE.name)
"""Columns of the access log, in the order of ``row_of``."""
_encode_any = json.JSONEncoder(separators=(",", ":")).encode


def row_of(record: AccessRecord, node: str) -> tuple[Any, ...]:
    """Return the values of a row. Raises RecordRefused for an invalid record."""
    try:
        return (*[cell(value) for cell, value in zip(_CELLS, _VALUES(record), strict=True)], node)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise RecordRefused(f"not a row ({type(error).__name__})") from None


def record_of_row(row: Any) -> AccessRecord:
    """Convert a row object back to a record; JSON columns may be text."""
    return AccessRecord(**{name: read(row) for name, read in _READERS.items()})


# Addresses repeat, and parsing one takes a fifth of the time of converting a row.
@lru_cache(maxsize=8192)
def client_key(address: str) -> str:
    """Return an address as sortable text. Raises ValueError."""
    parsed = parse_address(address)
    if parsed is None:
        raise ValueError("not an address")
    return f"4{int(parsed):08x}" if parsed.version == 4 else f"6{int(parsed):032x}"


def _encode(value: Any) -> str:
    try:
        data = orjson.dumps(value)
    except orjson.JSONEncodeError:  # a lone surrogate, or a number beyond 64 bits
        return _encode_any(value)
    return data.decode() if data.isascii() else _encode_any(value)


def _cells_of(field: Field) -> Iterator[Callable[[Any], Any]]:
    """Yield the converter of each column of a field."""
    match field.kind:
        case Kind.ID:
            yield uuid.UUID
        case Kind.MOMENT:
            yield lambda seconds: datetime.fromtimestamp(seconds, UTC)
        case Kind.ADDRESS:
            yield lambda address: address[: field.length]
            yield client_key
        case Kind.TEXT:
            yield _text(field.length, null=field.null)
        case Kind.NUMBER | Kind.FLAG:
            yield _number(field)
        case Kind.ROW:
            for part, length in field.parts.items():
                yield _part(part, length)
        case Kind.RULES:
            yield lambda rules: _encode([_rule(rule) for rule in rules]) if rules else "[]"
        case Kind.JSON:
            yield _json


def _number(field: Field) -> Callable[[Any], int | None]:
    if field.kind is Kind.FLAG:
        return _flag
    return (lambda value: None if value is None else min(int(value), field.high)) if field.null else int


def _flag(value: Any) -> bool | None:
    return True if value else None


def _json(value: Any) -> str | None:
    return None if value is None else _encode(value)


def _text(length: int, *, null: bool) -> Callable[[Any], str | None]:
    if null:
        return lambda text: None if text is None else storable(text, length)
    return lambda text: storable(text, length)


def _part(name: str, length: int) -> Callable[[Any], Any]:
    text = _text(length, null=True)
    if name == "kind":
        return lambda row: text(row["kind"]) if row else None
    return lambda row: (text(row.get(name)) if length else row.get(name)) if row else None


def _rule(rule: dict[str, Any]) -> dict[str, Any]:
    return {**rule, "id": int(rule["id"]), "name": str(rule["name"])}


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Any:
    return json.loads(text)


def _reader_of(field: Field) -> Callable[[Any], Any]:
    """Return the function that reads a record's value from a row."""
    match field.kind:
        case Kind.ID:
            return lambda row: str(row.decision_id)
        case Kind.MOMENT:
            return lambda row: row.at.timestamp()
        case Kind.ROW:
            kind, values = attrgetter(f"{field.name}_kind"), attrgetter(*field.columns)
            return lambda row: dict(zip(field.parts, values(row), strict=True)) if kind(row) else None
        case Kind.FLAG:
            flag = attrgetter(field.name)
            return lambda row: flag(row) is True
        case Kind.RULES | Kind.JSON:
            value = attrgetter(field.name)
            return lambda row: _parsed(value(row)) if isinstance(value(row), str) else value(row)
    return attrgetter(field.name)


_VALUES = attrgetter(*(field.name for field in RECORDED for _ in field.columns))
_CELLS = tuple(cell for field in RECORDED for cell in _cells_of(field))
_READERS = {field.name: _reader_of(field) for field in RECORDED}
