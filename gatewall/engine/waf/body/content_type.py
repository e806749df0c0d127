"""Content-Type and Content-Disposition: media types and parameters, by RFC 9110. No I/O."""

from dataclasses import dataclass

MAX_PARAMETERS = 32
"""Further parameters are not read."""
MAX_READ = 2
"""Number of media types by which one body is read."""
MAX_LENGTH = 1_024
"""Quoted strings are parsed only in values up to this length."""


@dataclass(frozen=True, slots=True)
class HeaderValue:
    """A header value with parameters: ``form-data; name="a"``.

    ``parameters`` maps each lower-case name to its first value; ``is_ambiguous`` if parsers may read another value.
    """

    value: str
    parameters: dict[str, str]
    is_ambiguous: bool = False


def parse(text: str) -> HeaderValue:
    """Parse a header value; quoted strings are unquoted, names and value are in lower case."""
    value, *rest = _split(text, ";", MAX_PARAMETERS + 1)
    parameters: dict[str, str] = {}
    is_ambiguous = len(rest) > MAX_PARAMETERS
    for part in rest[:MAX_PARAMETERS]:
        name, equals, content = part.partition("=")
        name = name.strip().lower()
        if not name and not equals:
            continue
        if name in parameters or not equals or "*" in name.rstrip("*"):
            is_ambiguous = True  # a repetition, or a continuation by RFC 2231
        parameters.setdefault(name, _unquoted(content.strip()))
    return HeaderValue(value.strip().lower(), parameters, is_ambiguous or _names_two_boundaries(text))


def _names_two_boundaries(text: str) -> bool:
    """True if parsers may take different boundaries: PHP takes what follows the first "boundary", wherever it is."""
    lower = text.lower()
    return sum([lower.count(spelling) for spelling in _BOUNDARIES]) > 1


_BOUNDARIES = ("boundary=", "boundary*", "boundary ", "boundary;")
"""More than the word alone, which a browser's boundary itself contains."""


def media_types(text: str) -> list[HeaderValue]:
    """Parse a Content-Type header, which should contain one media type but may contain several.

    Types beyond ``MAX_READ`` are returned without parameters.
    """
    parts = [part for part in _split(text.replace("\n", ","), ",", MAX_PARAMETERS) if part.strip()]
    further = [HeaderValue(part.partition(";")[0].strip().lower(), {}) for part in parts[MAX_READ:]]
    return [*map(parse, parts[:MAX_READ]), *further]


def _split(text: str, separator: str, most: int) -> list[str]:
    """Split at separators outside of quoted strings; the last of ``most`` parts has the rest."""
    if '"' not in text or len(text) > MAX_LENGTH:
        return text.split(separator, most - 1)
    parts: list[str] = []
    if "\\" not in text:
        return _split_between_quotes(text, separator, most)
    began, is_quoted, at = 0, False, 0
    while at < len(text) and len(parts) < most - 1:
        character = text[at]
        if character == "\\" and is_quoted:
            at += 1
        elif character == '"':
            is_quoted = not is_quoted
        elif character == separator and not is_quoted:
            parts.append(text[began:at])
            began = at + 1
        at += 1
    return [*parts, text[began:]]


def _split_between_quotes(text: str, separator: str, most: int) -> list[str]:
    """Split text without backslashes: a separator is quoted if an odd number of quotes is before it."""
    parts: list[str] = []
    quoted: list[str] = []
    is_open = False
    pieces = text.split(separator)
    for number, piece in enumerate(pieces):
        if len(parts) == most - 1:
            return [*parts, separator.join([*quoted, *pieces[number:]])]
        quoted.append(piece)
        is_open ^= piece.count('"') % 2 == 1
        if not is_open:
            parts.append(separator.join(quoted))
            quoted = []
    return [*parts, separator.join(quoted)] if quoted else parts


def _unquoted(text: str) -> str:
    if text[:1] != '"':
        return text
    if "\\" not in text:
        return text[1:].partition('"')[0]
    found: list[str] = []
    characters = iter(text[1:])
    for character in characters:
        if character == '"':
            break
        found.append(next(characters, "") if character == "\\" else character)
    return "".join(found)
