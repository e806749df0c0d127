"""Whether values have the types that their classes declare."""

from dataclasses import fields, is_dataclass
from types import UnionType
from typing import get_args, get_origin, get_type_hints


def of_type(value, hint):
    """Return whether the value, and everything in it, has the type that its class declares."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is UnionType:
        return any(of_type(value, part) for part in parts)
    if origin in {tuple, frozenset}:
        return type(value) is origin and all(of_type(each, parts[0]) for each in value)
    return type(value) is hint and (not is_dataclass(hint) or has_its_types(value))


def has_its_types(row):
    hints = get_type_hints(type(row))
    return all(of_type(getattr(row, field.name), hints[field.name]) for field in fields(row))
