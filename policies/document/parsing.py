"""Parse a policy document (YAML 1.2 or JSON) to plain values, with the place of each value. No I/O.

The parser of libyaml yields events; this module converts them to values and refuses aliases and anchors, tags, merge
keys, duplicate keys, several documents, and deep nesting. Plain scalars are read by the core schema of YAML 1.2, so
``NO`` is a text.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import yaml

from gatewall.engine.messages import Message
from gatewall.engine.messages import gettext_noop as _
from policies.document.limits import MAX_VALUES, Unreadable, require_size

MAX_DEPTH = 12
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}", re.ASCII)
_FLOAT = re.compile(
    r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", re.ASCII
)
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


_EMPTY: Mapping[Any, Any] = MappingProxyType({})


@dataclass(slots=True)
class Place:
    """Line and column of a value (from 1), and the places of the values and keys in it."""

    line: int
    column: int
    inner: Mapping[Any, "Place"] = field(default_factory=lambda: _EMPTY)
    keys: Mapping[str, "Place"] = field(default_factory=lambda: _EMPTY)


@dataclass(frozen=True, slots=True)
class NotANumber:
    """A YAML scalar that no field accepts, such as 1.5: neither a text nor a whole number."""

    text: str

    def __str__(self) -> str:
        return self.text


def parse(data: bytes) -> tuple[Any, Place]:
    """Return the values of a document, and their places. Raises Unreadable."""
    require_size(data)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = before.count(b"\n") + 1
        raise Unreadable(Message(_("the document is not UTF-8")), line, error.start - before.rfind(b"\n")) from None
    try:
        return _Reader(text).document()
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        words = Message(_("the character %(code)s is not allowed"), code=f"U+{_code(error.character):04X}")
        raise Unreadable(words, line, error.position - text.rfind("\n", 0, error.position)) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        words = Message(_("not YAML: %(problem)s"), problem=error.problem or error.context or "")
        raise Unreadable(words, line, column) from None


def _code(character: Any) -> int:
    return character if isinstance(character, int) else ord(character[:1] or "\0")


class _Reader:
    """Converter of the YAML events of one document to values."""

    def __init__(self, text: str) -> None:
        self._events: Iterator[Any] = yaml.parse(_without_surrogate_pairs(text), Loader=_LOADER)
        self._nodes = 0
        self._section: tuple[str, Any] | None = None  # name of the current section, and event of its value

    def document(self) -> tuple[Any, Place]:
        next(self._events)  # the stream
        event = next(self._events)
        if isinstance(event, yaml.StreamEndEvent):
            raise Unreadable(Message(_("the document is empty")))
        found = self._value(next(self._events), 1)
        next(self._events)  # the end of the document
        event = next(self._events)
        if not isinstance(event, yaml.StreamEndEvent):
            raise _unreadable(event, Message(_("there is a second document")))
        return found

    def _value(self, event: Any, depth: int) -> tuple[Any, Place]:
        self._nodes += 1
        if self._nodes > MAX_VALUES:
            raise self._too_many(event)
        if isinstance(event, yaml.AliasEvent) or event.anchor:
            raise _unreadable(event, Message(_("anchors and aliases are not allowed: write the value out")))
        if event.tag:
            raise _unreadable(event, Message(_("tags are not allowed")))
        place = Place(event.start_mark.line + 1, event.start_mark.column + 1)
        if isinstance(event, yaml.ScalarEvent):
            return _scalar(event), place
        if depth > MAX_DEPTH:
            raise _unreadable(event, Message(_("the document is nested too deeply")))
        if isinstance(event, yaml.SequenceStartEvent):
            return self._list(place, depth), place
        return self._object(place, depth), place

    def _list(self, place: Place, depth: int) -> list[Any]:
        found: list[Any] = []
        place.inner = places = {}
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            value, places[len(found)] = self._value(event, depth + 1)
            found.append(value)
        return found

    def _object(self, place: Place, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        place.inner, place.keys = places, keys = {}, {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent | yaml.AliasEvent):
                raise _unreadable(event, Message(_("a key is a text")))
            if isinstance(event, yaml.ScalarEvent) and event.value == "<<" and event.implicit[0]:
                raise _unreadable(event, Message(_("merge keys are not allowed: write the value out")))
            _ignored, at = self._value(event, depth)
            key: str = event.value  # type: ignore[union-attr]  # an alias was refused
            if key in found:
                raise _unreadable(event, Message(_("the key %(key)s is given twice"), key=repr(key[:64])))
            event = next(self._events)
            if depth == 1:
                self._section = key, event
            found[key], places[key] = self._value(event, depth + 1)
            keys[key] = at
        return found

    def _too_many(self, event: Any) -> Unreadable:
        """Return the error for too many values, placed at the current section."""
        words = _("the document has more than %(number)s values; long lists of networks belong to a list subscription")
        name, event = self._section or ("", event)
        refused = _unreadable(event, Message(words, number=f"{MAX_VALUES:,}"))
        refused.section = name
        return refused


def _scalar(event: Any) -> Any:
    text = event.value
    if event.style or not event.implicit[0]:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return NotANumber(text) if _FLOAT.fullmatch(text) else text


def _unreadable(event: Any, message: str) -> Unreadable:
    return Unreadable(message, event.start_mark.line + 1, event.start_mark.column + 1)


_SURROGATES = re.compile(r"\\\\|\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")


def _without_surrogate_pairs(text: str) -> str:
    """Return JSON with each escaped surrogate pair as one YAML escape; other texts unchanged."""
    if not text.lstrip().startswith("{") or "\\u" not in text:
        return text
    return _SURROGATES.sub(_as_one, text)


def _as_one(pair: re.Match[str]) -> str:
    if not pair[1]:
        return pair[0]  # an escaped backslash
    character = json.loads(f'"{pair[0]}"')
    return f"\\U{ord(character):08x}"
