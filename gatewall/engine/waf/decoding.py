"""Decode evasions: base64, entities, escapes, comments, shell quotes. Bounded, no I/O. See also ``percent.py``.

Texts are latin-1. No function returns a longer text than it was given, so layers of encoding cannot blow up a request.
"""

import html
import re
from binascii import a2b_base64
from functools import lru_cache

_HEX = frozenset("0123456789abcdefABCDEF")
_BYTES = tuple(map(chr, range(0x100)))
PAIRS = {first + second: int(first + second, 16) for first in _HEX for second in _HEX}
_OCTALS = {f"{code:03o}": code & 0xFF for code in range(0o1000)}
_IN_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_="
_IN_FORM_BASE64 = _IN_BASE64 + b" \r"
_UNSEEN = bytes([*range(9), 11, *range(14, 32), *range(127, 161)])
_UNREADABLE = bytes([*range(9), 11, 12, *range(14, 32), *range(127, 256)])
_PRINTABLE = bytes([*range(32, 127), *range(161, 173), *range(174, 256)])
_SIGNS = ("\\", "&", "/*")
_SHELL_QUOTES = b"'\"\\^`"
_OPENINGS = bytes([ord("a" if each.isalpha() else "<" if each == "<" else ".") for each in _BYTES])
"""Maps letters to ``a`` and other characters to ``.``, except ``<``."""
MIN_BASE64 = 12
"""Shorter texts are not decoded as base64."""
_LONGEST_REFERENCE = 34
"""Characters after ``&`` that determine a reference, unless it is a number with many leading zeros."""
_SHORT = 256
_NUMBER = re.compile(r"(&#)0*([0-9]{1,8})[0-9]*")
_PLAIN_BASE64 = bytes.maketrans(b"-_", b"+/")
"""Maps the URL-safe alphabet to the plain one."""
_PLAIN_FORM = bytes.maketrans(b"-_ ", b"+/+")
"""Maps blanks too, for forms whose client did not encode plus signs."""
_NARROW = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_BLANKS = ("\xc2\xa0", "\xc0\xa0", "\xe0\x80\xa0", "\xf0\x80\x80\xa0")
_BEGINNING = 8_192  # the beginning of a long text distinguishes most texts from base64
_MAX_UNREADABLE = 33  # decoded base64 may have one unreadable character in this many


def is_printable(text: str) -> bool:
    """Return ``text.isprintable()`` of latin-1 text, six times as fast for a long text."""
    return text.isprintable() if len(text) < _SHORT else not unprintable_in(text)


def unprintable_in(text: str) -> bytes:
    """Return the characters of a latin-1 text that are not printable."""
    return text.encode("latin-1").translate(None, _PRINTABLE)


def _without(text: str, unwanted: bytes) -> str:
    return text.encode("latin-1").translate(None, unwanted).decode("latin-1")


def character(code: int) -> str:
    """Return the byte of a code point; full-width forms become the ASCII they look like."""
    if 0xFF01 <= code <= 0xFF5E:
        code -= 0xFEE0
    return chr(code) if code < 0x100 else "?"


def split_query(query: str, most: int) -> list[str]:
    """Return ``query.split("&", most)``, in a tenth of the time for a long query with few arguments."""
    if len(query) < _BEGINNING:
        return query.split("&", most)
    parts: list[str] = []
    at = 0
    while len(parts) < most and (end := query.find("&", at)) >= 0:
        parts.append(query[at:end])
        at = end + 1
    return [*parts, query[at:]]


def split_at_signs(text: str, most: int) -> tuple[str, str]:
    """Split before the ``most``-th sign of any kind: each sign costs ``loosened`` some Python code."""
    if not most:
        return "", text
    end = len(text)
    for sign in _SIGNS:
        parts = text.split(sign, most)
        if len(parts) > most:
            end = min(end, len(text) - len(parts[-1]) - len(sign))
    return text[:end], text[end:]


def signs_in(text: str) -> int:
    """Count what ``loosened`` decodes one by one: entities, escapes and comments."""
    return sum([text.count(sign) for sign in _SIGNS])


def loosened(text: str) -> str:
    """Remove entities, escapes, comments and NULs, as a browser, SQL or script engine does."""
    if "&" in text:
        text = _without_references(text)
    if "\\" in text:
        text = _unescaped(text)
    if "\xef\xbc" in text or "\xef\xbd" in text:
        text = _narrowed(text)
    if "\xa0" in text:
        text = _spaced(text)
    if "/*" in text:
        text = _without_comments(text)
    return text if is_printable(text) else _without(text.replace("\x0b", " "), _UNSEEN)


def _without_references(text: str) -> str:
    """Return ``html.unescape`` of a text in latin-1, in a tenth of the time: references repeat."""
    first, *parts = text.split("&")
    found = [first]
    for part in parts:
        name, end, behind = part.partition(";")
        if not end or len(name) >= _LONGEST_REFERENCE:
            is_number = _HEX.issuperset(part[2:_LONGEST_REFERENCE])  # may have many leading zeros
            cut = len(part) if is_number else _LONGEST_REFERENCE
            name, end, behind = part[:cut], "", part[cut:]
        found += (_referenced(name + end), behind)
    return "".join(found)


def unreferenced(text: str) -> str:
    """Return ``html.unescape`` of a text with numbers of any length; Python refuses long ones."""
    return html.unescape(_NUMBER.sub(r"\1\2", text) if len(text) > _SHORT else text)


def _referenced(name: str) -> str:
    return _short_referenced(name) if len(name) <= _LONGEST_REFERENCE else _unreferenced(name)


def _unreferenced(name: str) -> str:
    return unreferenced(f"&{name}").encode("latin-1", "replace").decode("latin-1")


_short_referenced = lru_cache(maxsize=4096)(_unreferenced)


def _unescaped(text: str) -> str:
    r"""Decode ``\xHH``, ``\uHHHH``, ``\u{H}`` and ``\ooo``; other backslashes are kept."""
    first, *parts = text.replace("\\\\", "\\").split("\\")
    found = [first]
    for part in parts:
        code, length = _escape(part)
        if code is None:
            found.append("\\" + part)
        else:
            found.append((_BYTES[code] if code < 0x100 else character(code)) + part[length:])
    return "".join(found)


def _escape(part: str) -> tuple[int | None, int]:
    """Return the code point of an escape after its backslash, and the escape's length."""
    letter = part[:1]
    if letter in {"x", "X"}:
        return PAIRS.get(part[1:3]), 3
    if part[:2] in {"u{", "U{"}:
        digits, brace, _ = part[2:11].partition("}")
        is_complete = brace and digits and _HEX.issuperset(digits)
        return (int(digits, 16), 3 + len(digits)) if is_complete else (None, 0)
    if letter in {"u", "U"}:
        high, low = PAIRS.get(part[1:3]), PAIRS.get(part[3:5])
        return (None, 0) if high is None or low is None else (high << 8 | low, 5)
    return _OCTALS.get(part[:3]), 3


def _narrowed(text: str) -> str:
    """Replace UTF-8 full-width letters by the ASCII they look like."""
    wide = text.encode("latin-1").decode("utf-8", "replace")
    return wide.translate(_NARROW).encode("latin-1", "replace").decode("latin-1")


def _spaced(text: str) -> str:
    """Replace no-break spaces, which MySQL takes for blanks, and overlong blanks.

    In UTF-8, and in Latin-1 unless the text is UTF-8.
    """
    for blank in _BLANKS:
        text = text.replace(blank, " ")
    if "\xa0" in text:
        try:
            text.encode("latin-1").decode()
        except UnicodeDecodeError:
            return text.replace("\xa0", " ")
    return text


def _without_comments(text: str) -> str:
    """Replace ``/*x*/`` by a space; MySQL executes the content of ``/*!50000x*/``."""
    first, *parts = text.split("/*")
    found = [first]
    for part in parts:
        inside, end, behind = part.partition("*/")
        if inside[:1] == "!":
            found.append(" " + inside[1:].lstrip("0123456789") + behind)
        else:
            found.append(" " + behind if end else "/*" + inside)
    return "".join(found)


def unquoted(text: str) -> str:
    """Remove what a shell drops: ``c'a't`` runs ``cat``. To a shell ``<name`` is a file, never an element of HTML."""
    if "$" in text:
        for nothing in ("$@", "$*"):
            text = text.replace(nothing, "")
        for space in ("${IFS}", "$IFS$9", "$IFS"):
            text = text.replace(space, " ")
    if "<" in text:
        text = _without_openings(text.encode("latin-1")).decode("latin-1")
    return _without(text, _SHELL_QUOTES)


def _without_openings(data: bytes) -> bytes:
    """Replace each ``<`` before a letter by a blank, by one XOR of the whole text as a number."""
    kinds = data.translate(_OPENINGS)
    if b"<a" not in kinds:
        return data
    before, behind = int.from_bytes(kinds, "big"), int.from_bytes(kinds.replace(b"<a", b" a"), "big")
    return (int.from_bytes(data, "big") ^ before ^ behind).to_bytes(len(data), "big")


def basic_decoded(text: str) -> str | None:
    """Decode the credentials of HTTP Basic as lenient servers do; None if they are not base64."""
    try:
        return a2b_base64(text.encode("latin-1").translate(_PLAIN_FORM) + b"==").decode("latin-1")
    except ValueError:
        return None


def base64_decoded(text: str) -> str | None:
    """Decode base64 if the result is readable text, else return None."""
    return _short_base64_decoded(text) if len(text) <= _SHORT else _base64_decoded(text)


@lru_cache(maxsize=2048)  # cookies and headers repeat with every request
def _short_base64_decoded(text: str) -> str | None:
    return _base64_decoded(text)


def form_base64_decoded(text: str) -> str | None:
    """Decode base64 from a form whose client did not encode its plus signs, with or without line breaks."""
    if len(text) > _SHORT:
        coded = text.encode("latin-1")
        return None if coded[:_SHORT].translate(None, _IN_FORM_BASE64) else _decoded_base64(coded, is_form=True)
    if " " in text:
        text = text.replace(" ", "+")
    return _short_base64_decoded(text.replace("\r", "") if "\r" in text else text)


def _base64_decoded(text: str) -> str | None:
    if len(text) < MIN_BASE64:
        return None
    coded = text.encode("latin-1")
    return None if coded[:_SHORT].translate(None, _IN_BASE64) else _decoded_base64(coded)


def _decoded_base64(coded: bytes, *, is_form: bool = False) -> str | None:
    """Decode base64 if the result is readable; of a form, blanks are plus signs, and line breaks are left out.

    The decoder skips other characters: then the result is too short.
    """
    body = coded.rstrip(b"=\r" if is_form else b"=")
    is_padded_inside = b"=" in body  # then the rest is not read
    if is_padded_inside and body.translate(None, _IN_FORM_BASE64 if is_form else _IN_BASE64):
        return None
    if b"-" in body or b"_" in body or b" " in body:
        body = body.translate(_PLAIN_FORM if is_form else _PLAIN_BASE64)
    try:
        is_long = len(body) > _BEGINNING and not is_padded_inside  # such a text is not decoded in part
        if is_long and not _may_be_readable(body[:_BEGINNING], len(body)):
            return None
        data = a2b_base64(body + b"==")  # the decoder ignores surplus padding
    except ValueError:
        return None
    length = len(body)
    if is_form and b"\r" in body:
        length = _without_breaks(body, len(data))
    if (length % 4 == 1 or len(data) != length * 3 // 4) and not is_padded_inside:
        return None
    return data.decode("latin-1") if _unreadable_in(data) * _MAX_UNREADABLE <= len(data) else None


def _without_breaks(body: bytes, decoded: int) -> int:
    """Return the length of base64 without line breaks; for regular ones, in a tenth of the time of counting."""
    at = body.find(b"\r")
    length = len(body) - body[at :: at + 1].count(b"\r")
    return length if decoded == length * 3 // 4 and length % 4 != 1 else len(body) - body.count(b"\r")


def _may_be_readable(begin: bytes, length: int) -> bool:
    """Return False if the beginning has too many unreadable characters for the whole, or is not base64."""
    begin = begin.translate(None, b"\r")
    begin = begin[: len(begin) // 4 * 4]
    data = a2b_base64(begin)
    is_base64 = len(data) == len(begin) // 4 * 3 or b"=" in begin
    return is_base64 and _unreadable_in(data) <= length * 3 // 4 // _MAX_UNREADABLE


def _unreadable_in(data: bytes) -> int:
    return len(data) - len(data.translate(None, _UNREADABLE))
