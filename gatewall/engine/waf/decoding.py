"""Decode evasions: percent and base64 encoding, entities, escapes, comments, shell quotes. Bounded, no I/O.

Texts are latin-1. No function returns a longer text than it was given, so layers of encoding cannot blow up a request.
"""

import html
from binascii import a2b_base64
from codecs import escape_decode
from functools import lru_cache
from urllib.parse import unquote_to_bytes

ROUNDS = 3
"""Rounds of percent-decoding, against double encoding."""
_HEX = frozenset("0123456789abcdefABCDEF")
_BYTES = tuple(map(chr, range(0x100)))
_PAIRS = {first + second: int(first + second, 16) for first in _HEX for second in _HEX}
_OCTALS = {f"{code:03o}": code & 0xFF for code in range(0o1000)}
_IN_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_="
_UNSEEN = bytes([*range(9), 11, *range(14, 32), *range(127, 161)])
_UNREADABLE = bytes([*range(9), 11, 12, *range(14, 32), *range(127, 256)])
_SIGNS = ("\\", "&", "/*")
_SHELL_QUOTES = b"'\"\\^`"
_MOST_WIDE = 128
"""Percent signs of a value that may begin ``%uXXXX``; what is behind them is decoded as ``%XX`` only."""
_MOST_MALFORMED = 64
"""Escapes of a value that are decoded one by one if any is malformed; malformed ones behind them lose their sign."""
MIN_BASE64 = 12
"""Shorter texts are not decoded as base64."""
_SHORT = 256
_PADDING = (b"", None, b"==", b"=")
"""Padding by length modulo four; a remainder of one is not base64."""
_PLAIN_BASE64 = bytes.maketrans(b"-_", b"+/")
_NARROW = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_BLANKS = ("\xc2\xa0", "\xc0\xa0", "\xe0\x80\xa0", "\xf0\x80\x80\xa0")
_MAX_UNREADABLE = 33  # decoded base64 may have one unreadable character in this many


def percent_decoded(text: str) -> str:
    """Decode ``%XX`` and ``%uXXXX`` until nothing changes, at most three times."""
    for _ in range(ROUNDS):
        if "%" not in text:
            break
        decoded = _bytes_decoded(_wide_decoded(text).encode("latin-1")).decode("latin-1")
        if decoded == text:
            break
        text = decoded
    return text


def _bytes_decoded(data: bytes) -> bytes:
    escapes = data.replace(b"\\", b"\\\\").replace(b"%", b"\\x")
    try:  # in C, ten times as fast; raises ValueError for malformed escapes
        return escape_decode(escapes)[0]
    except ValueError:
        if data.count(b"%") <= _MOST_MALFORMED:
            return unquote_to_bytes(data)
    first = unquote_to_bytes(b"%".join(data.split(b"%", _MOST_MALFORMED)[:_MOST_MALFORMED]))
    rest = b"%" + data.split(b"%", _MOST_MALFORMED)[-1]
    return first + escape_decode(rest.replace(b"\\", b"\\\\").replace(b"%", b"\\x"), "ignore")[0]


def _without(text: str, unwanted: bytes) -> str:
    return text.encode("latin-1").translate(None, unwanted).decode("latin-1")


def _wide_decoded(text: str) -> str:
    """Decode ``%uXXXX``, which old IIS and some frameworks accept."""
    if "%u" not in text and "%U" not in text:
        return text
    first, *parts = text.split("%", _MOST_WIDE)
    found = [first]
    for part in parts:
        digits = part[1:5]
        if part[:1] in {"u", "U"} and len(digits) == 4 and _HEX.issuperset(digits):
            found.append(character(int(digits, 16)) + part[5:])
        else:
            found.append("%" + part)
    return "".join(found)


def character(code: int) -> str:
    """Return the byte of a code point; full-width forms become the ASCII they look like."""
    if 0xFF01 <= code <= 0xFF5E:
        code -= 0xFEE0
    return chr(code) if code < 0x100 else "?"


def split_at_signs(text: str, most: int) -> tuple[str, str]:
    """Split before the first sign of which ``most`` come before it: each costs ``loosened`` some Python code."""
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
        text = html.unescape(text).encode("latin-1", "replace").decode("latin-1")
    if "\\" in text:
        text = _unescaped(text)
    if "\xef\xbc" in text or "\xef\xbd" in text:
        text = _narrowed(text)
    if "\xa0" in text:
        text = _spaced(text)
    if "/*" in text:
        text = _without_comments(text)
    return text if text.isprintable() else _without(text.replace("\x0b", " "), _UNSEEN)


def _unescaped(text: str) -> str:
    r"""Decode ``\xHH``, ``\uHHHH``, ``\u{H}`` and ``\ooo``; other backslashes stay."""
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
        return _PAIRS.get(part[1:3]), 3
    if part[:2] in {"u{", "U{"}:
        digits, brace, _ = part[2:11].partition("}")
        is_complete = brace and digits and _HEX.issuperset(digits)
        return (int(digits, 16), 3 + len(digits)) if is_complete else (None, 0)
    if letter in {"u", "U"}:
        high, low = _PAIRS.get(part[1:3]), _PAIRS.get(part[3:5])
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
        first, *parts = text.split("<")
        text = first + "".join([(" " if part[:1].isalpha() else "<") + part for part in parts])
    return _without(text, _SHELL_QUOTES)


def basic_decoded(text: str) -> str | None:
    """Decode the credentials of HTTP Basic as lenient servers do; None if they are not base64."""
    try:
        return a2b_base64(text.encode("latin-1").translate(_PLAIN_BASE64) + b"==").decode("latin-1")
    except ValueError:
        return None


def base64_decoded(text: str) -> str | None:
    """Decode base64 if the result is readable text, else return None."""
    return _short_base64_decoded(text) if len(text) <= _SHORT else _base64_decoded(text)


@lru_cache(maxsize=2048)  # cookies and headers repeat with every request
def _short_base64_decoded(text: str) -> str | None:
    return _base64_decoded(text)


def _base64_decoded(text: str) -> str | None:
    if len(text) < MIN_BASE64:
        return None
    coded = text.encode("latin-1")
    if coded.translate(None, _IN_BASE64):
        return None
    body = coded.rstrip(b"=")
    padding = _PADDING[len(body) % 4]
    if padding is None:
        return None
    try:
        data = a2b_base64(body.translate(_PLAIN_BASE64) + padding)
    except ValueError:
        return None
    unreadable = len(data) - len(data.translate(None, _UNREADABLE))
    return data.decode("latin-1") if unreadable * _MAX_UNREADABLE <= len(data) else None
