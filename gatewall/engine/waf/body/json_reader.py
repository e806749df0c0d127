"""Names and strings in JSON, with their paths: ``$.posts[*].html``, ``$['a b']``. Bounded, no I/O.

``read`` parses valid JSON, ``read_lines`` one value a line. ``read_loosely`` finds the strings in text similar to JSON:
truncated, concatenated, with comments.
"""

import json
from collections.abc import Callable

from gatewall.engine.waf.body.json_path import MAX_PATH, member
from gatewall.engine.waf.body.texts import BODY_MARK, BodyText, as_wire, field, rest_text
from gatewall.engine.waf.decoding import MIN_BASE64
from gatewall.engine.waf.exclusions import Part
from gatewall.engine.waf.rules import BodyRegion, Target

MAX_VALUES = 64
"""Strings that are inspected one by one; further ones form one value."""
_OVERLAP = 256
_ESCAPE = len(r"\uXXXX")
_MAX_LINES = 80  # of JSON, each of which is parsed
_MAX_LINE_BREAKS = 4 * _MAX_LINES
_MAX_OBJECTS = 4_096  # of JSON in lines, arrays included
_MAX_STRINGS = 16  # of a text that is read loosely; what follows is decoded as one
_MAX_MEMBERS = 1_024  # quotes and separators of a text that is parsed
_MAX_ESCAPES = 2_048  # of a text that is parsed
_BEGINNING = 12_288
_MAX_TRIES = 2
_TWO_AND_QUOTE = '\\\\"'
_MAX_LOOSE = 8_192  # characters of a longer text that are read loosely
_JOINT = "\f"
_scanstring: Callable[[str, int, bool], tuple[str, int]] = vars(json.decoder)["scanstring"]
"""Decode the string after the quote before an offset; return it and the offset after it. Not in mypy's stubs."""
_MARKS = tuple(map(chr, range(1, 9)))
_NO_MEMBERS = bytes(set(range(256)) - set(b'",{['))
_NO_OBJECTS = bytes(set(range(256)) - set(b"{["))
_STRUCTURE = b"{}[]:, \t\r\n0123456789.+-eEtrufalsn"


class _Object(list[tuple[str, object]]):
    """Members of a JSON object, duplicates included."""


def read(text: str, part: Part | None = None, most: int = MAX_VALUES) -> list[BodyText] | None:
    """Return names and strings in a JSON text (latin-1); None if it is not JSON, or ``is_much``.

    ``part`` is ``JSON_PATH`` if sites read the text only as JSON, so that exclusions apply to its paths. The first
    ``most`` strings are separate values, further ones form one value.
    """
    if is_much(text):
        return None
    try:
        decoded = _decoded(text)
        root = _parsed(decoded)
        return _texts(root, part, most) if most > 0 else _as_one(decoded)
    except (ValueError, RecursionError):
        return None


def _as_one(text: str) -> list[BodyText]:
    """Return a JSON text with its escapes decoded, as one value that does not begin like JSON."""
    return [BodyText(None, _JOINT + as_wire(_unescaped(text)[0]), BodyRegion.TEXT), BodyText(None, BODY_MARK)]


def read_lines(text: str, part: Part | None = None) -> list[BodyText] | None:
    """Return names and strings in lines of JSON; None if a line is not JSON, or there are too many."""
    if len(text.encode("latin-1").translate(None, _NO_OBJECTS)) > _MAX_OBJECTS:
        return None
    lines = _decoded(text).split("\n", _MAX_LINE_BREAKS)
    if len(lines) > _MAX_LINE_BREAKS or not 1 < len(lines := [line for line in lines if line.strip()]) <= _MAX_LINES:
        return None
    try:
        return _texts(list(map(_parsed, lines)), part)
    except (ValueError, RecursionError):
        return None


def _parsed(text: str) -> object:
    return json.loads(text, object_pairs_hook=_Object, parse_int=bool, parse_float=bool, parse_constant=bool)


def is_much(text: str) -> bool:
    """True if a text (latin-1) has more members than are parsed."""
    data = text.encode("latin-1")
    return (len(data) > _BEGINNING and _exceeds_limits(data[:_BEGINNING])) or _exceeds_limits(data)


def _exceeds_limits(data: bytes) -> bool:
    is_escaped = b"\\" in data and len(data.split(b"\\", _MAX_ESCAPES + 1)) > _MAX_ESCAPES + 1
    return is_escaped or len(data.translate(None, _NO_MEMBERS)) > _MAX_MEMBERS


def read_loosely(text: str) -> list[BodyText]:
    """Return the strings in a text that begins like JSON, and the text between them unless it is only structure."""
    text = _decoded(text)
    text, behind = text[:_MAX_LOOSE], text[max(_MAX_LOOSE - _OVERLAP, 0) :] if len(text) > _MAX_LOOSE else ""
    strings = _Strings(None)
    between: list[str] = []
    at = 0
    while (begin := text.find('"', at)) >= 0 and len(between) <= _MAX_STRINGS:
        between.append(text[at:begin])
        try:
            string, at = _scanstring(text, begin + 1, False)
        except ValueError:
            cut = _cut(text[begin:])
            if cut is None:
                at = begin
                break
            string, at = cut, len(text)
        strings.add(None, string)
    between.append(text[at:])
    found = strings.result()
    if len(between) > _MAX_STRINGS:
        behind = between.pop() + behind
    if behind:
        unescaped, is_valid = _unescaped(behind)
        decoded = as_wire(unescaped)
        found.append(rest_text(decoded))
        if not is_valid and found[-1].text == decoded:  # packed bytes are not inspected as sent
            found.append(rest_text(as_wire(behind)))
        found.append(BodyText(None, BODY_MARK))
    rest = as_wire(" ".join(between))
    if rest.encode("latin-1").translate(None, _STRUCTURE):
        found.append(BodyText(None, rest, BodyRegion.TEXT if behind else Target.BODY))
    return found


def _unescaped(text: str) -> tuple[str, bool]:
    """Decode all JSON escapes in a text, in whatever string; return the text and whether all were valid.

    The first invalid escape is left out. The text is decoded as one string by a decoder in C: thousands of escapes cost
    less than a scan.
    """
    if "\\" not in text:
        return text.replace('"', _JOINT), True
    marks = [each for each in _MARKS if each not in text][:2]
    if len(marks) < 2:
        return text, False
    left = _with_marks(text, *marks)
    for number in range(_MAX_TRIES):
        try:
            decoded, _end = _scanstring(f'{left}"', 0, False)
        except json.JSONDecodeError as error:
            at = left.rfind("\\", 0, error.pos + 1)
            left = left[: max(at, 0)] + left[at + 1 :]
        else:
            for mark, meaning in zip(marks, '"\\', strict=True):
                if mark in decoded:
                    decoded = decoded.replace(mark, meaning)
            return decoded, not number
    return text, False


def _with_marks(text: str, quote: str, backslash: str) -> str:
    """Replace quotes by ``_JOINT``, and escaped quotes by a mark; so too escaped backslashes, if some precede a quote.

    A quote after several backslashes is escaped if their number is odd.
    """
    if _TWO_AND_QUOTE in text:
        text = text.replace("\\\\", backslash)
    return text.replace('\\"', quote).replace('"', _JOINT)


def _cut(text: str) -> str | None:
    """Decode a string whose end is missing; its last characters are not decoded if they may be half an escape."""
    escape = text.find("\\", max(len(text) - _ESCAPE, 1))
    end = escape if escape >= 0 else len(text)
    try:
        value, _ = _scanstring(text[:end].rstrip("\\") + '"', 1, False)
    except ValueError:
        return None
    return f"{value}{text[end:]}"


def _decoded(text: str) -> str:
    if text.isascii():
        return text
    try:
        return text.encode("latin-1").decode()
    except UnicodeDecodeError:
        return text


def _texts(root: object, part: Part | None, most: int = MAX_VALUES) -> list[BodyText]:
    found = _Strings(part, most)
    waiting: list[tuple[str, object]] = [("$", root)]
    while waiting:
        path, item = waiting.pop()
        if isinstance(item, str):
            found.add(path, item)
        elif isinstance(item, _Object):
            for name, value in item:
                is_plain = name.isidentifier()
                if not is_plain or "__" in name or len(name) >= MIN_BASE64:
                    found.add(path, _name(name))
                if value.__class__ is not bool and value is not None:
                    waiting.append(((f"{path}.{name}" if is_plain else path + member(name))[-MAX_PATH:], value))
        elif isinstance(item, list):
            waiting += [((path + "[*]")[-MAX_PATH:], each) for each in item]
    return found.result()


def _name(name: str) -> str:
    """Return a name as rules expect it: operators of a document database are names that begin with a dollar."""
    return f'"{name}":' if name[:1] == "$" else name


class _Strings:
    """Collects strings: the first ones as separate values, the others joined."""

    def __init__(self, part: Part | None, most: int = MAX_VALUES) -> None:
        self._part = part
        self._most = most
        self._texts: list[BodyText] = []
        self._rest: list[str] = []

    def add(self, path: str | None, text: str) -> None:
        """Add a string, unless it is a short word or number."""
        if len(text) < MIN_BASE64 and (text.isalnum() or not text):
            return
        if len(self._texts) >= self._most:
            self._rest.append(text)
        else:
            self._texts.append(field((self._part, path) if path else None, as_wire(text)))

    def result(self) -> list[BodyText]:
        if not self._rest:
            return self._texts
        rest = as_wire(_JOINT.join(self._rest))
        return [*self._texts, BodyText(None, rest, BodyRegion.TEXT), BodyText(None, BODY_MARK)]
