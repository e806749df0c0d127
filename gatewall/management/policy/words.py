"""Readable output of ``gatewall policy``. Pure."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

_SIGNS = {"created": "+", "changed": "~", "deleted": "-"}


def of_changes(changes: "list[Mapping[str, Any]]") -> Iterator[str]:
    """Yield the lines of differences, by section: ``+`` created, ``~`` changed, ``-`` deleted."""
    section = None
    for each in changes:
        if each["section"] != section:
            section = each["section"]
            yield f"{section}:"
        if each["key"]:
            yield f"  {_SIGNS[each['action']]} {shown(each['key'])}"
        yield from _fields(each)


def _fields(change: Mapping[str, Any]) -> Iterator[str]:
    if change["action"] == "changed":
        for name, after in change["after"].items():
            yield f"      {name}: {_value(change['before'][name])} -> {_value(after)}"
    elif change["action"] == "created":
        for name, after in change["after"].items():
            if shown(after) != change["key"]:
                yield f"      {name}: {_value(after)}"


def _value(value: Any) -> str:
    return shown(value) if isinstance(value, str) and value else shown(json.dumps(value, ensure_ascii=False))


def shown(text: Any) -> str:
    """Return a text in one line without characters that control a terminal."""
    plain = str(text)
    return plain if plain.isprintable() else json.dumps(plain)


def of_errors(errors: "list[Mapping[str, Any]]", file: str) -> Iterator[str]:
    """Yield a line for each fault of a document, as compilers do."""
    for each in errors:
        pointer = each["pointer"] or "/"
        yield f"{shown(file)}:{each['line']}:{each['column']}: {shown(pointer)}: {shown(each['message'])}"
