"""Names and strings in JSON, with their paths. Bounded, no I/O.

``read`` parses valid JSON. ``read_loosely`` finds the strings in anything like JSON: cut, concatenated, with comments.
"""

import json

from gatewall.engine.waf.body.texts import BODY_MARK, BodyText, as_wire, region_of
from gatewall.engine.waf.decoding import MIN_BASE64

MAX_VALUES = 1_024
"""Strings that are inspected one by one; further ones form one value."""
_MAX_PATH = 128
_ESCAPE = len(r"\uXXXX")
_JOINT = "\f"
_decode_at = json.JSONDecoder(strict=False).raw_decode
"""Decode the value that begins at an offset; return it and the offset behind it."""
_STRUCTURE = b"{}[]:, \t\r\n0123456789.+-eEtrufalsn"


class _Object(list[tuple[str, object]]):
    """Members of a JSON object, duplicates included."""


def read(text: str) -> list[BodyText] | None:
    """Return names and strings in a JSON text (latin-1); None if it is not JSON."""
    try:
        root = json.loads(
            _decoded(text), object_pairs_hook=_Object, parse_int=bool, parse_float=bool, parse_constant=bool
        )
    except (ValueError, RecursionError):
        return None
    return _texts(root)


def read_loosely(text: str) -> list[BodyText]:
    """Return the strings in a text that begins like JSON, and what is between them unless it is only structure."""
    text = _decoded(text)
    strings: list[BodyText] = []
    between: list[str] = []
    at = 0
    while (begin := text.find('"', at)) >= 0:
        between.append(text[at:begin])
        try:
            string, at = _decode_at(text, begin)
        except ValueError:
            cut = _cut(text[begin:])
            if cut is None:
                at = begin
                break
            string, at = cut, len(text)
        if not _is_plain(string):
            string = as_wire(string)
            strings.append(BodyText(None, string, region_of(string)))
    between.append(text[at:])
    found = _bounded(strings)
    rest = as_wire(" ".join(between))
    if rest.encode("latin-1").translate(None, _STRUCTURE):
        found.append(BodyText(None, rest))
    return found


def _cut(text: str) -> str | None:
    """Return a string whose end is missing, without the last characters, which may be half an escape."""
    try:
        value, _ = _decode_at(text[:-_ESCAPE].rstrip("\\") + '"')
    except ValueError:
        return None
    return f"{value}{text[-_ESCAPE:]}"


def _decoded(text: str) -> str:
    if text.isascii():
        return text
    try:
        return text.encode("latin-1").decode()
    except UnicodeDecodeError:
        return text


def _texts(root: object) -> list[BodyText]:
    found: list[BodyText] = []
    waiting: list[tuple[str, object]] = [("", root)]
    while waiting:
        path, item = waiting.pop()
        if isinstance(item, str):
            if not _is_plain(item):
                item = as_wire(item)
                found.append(BodyText(path or None, item, region_of(item)))
        elif isinstance(item, _Object):
            for name, value in item:
                if not name.isidentifier() or "__" in name or len(name) >= MIN_BASE64:
                    found.append(BodyText(path or None, _name(as_wire(name))))
                if value.__class__ is not bool and value is not None:
                    waiting.append((f"{path}.{name}"[-_MAX_PATH:] if path else name[:_MAX_PATH], value))
        elif isinstance(item, list):
            waiting += [(path + "[]" if path[-2:] != "[]" else path, each) for each in item]
    return _bounded(found)


def _name(name: str) -> str:
    """Return a name as rules expect it: operators of a document database are names that begin with a dollar."""
    return f'"{name}":' if name[:1] == "$" else name


def _is_plain(text: str) -> bool:
    return len(text) < MIN_BASE64 and (text.isalnum() or not text)


def _bounded(found: list[BodyText]) -> list[BodyText]:
    """Join texts over the limit."""
    if len(found) <= MAX_VALUES:
        return found
    rest = _JOINT.join([text for _, text, _ in found[MAX_VALUES:]])
    return [*found[:MAX_VALUES], BodyText(None, rest, region_of(rest)), BodyText(None, BODY_MARK)]
