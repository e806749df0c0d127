"""Decode references to characters in a part of an XML document, such as ``&#60;``. Bounded, no I/O."""

from typing import Any
from xml.parsers import expat

_PIECE = 4_096
_MAX_SHRUNK = 16_384
"""Characters that decoding may remove from a document: each reference removes three or more."""
_MAX_TRIES = 2
_ROOT = b"<r>"
_MARKS = tuple([bytes([each]) for each in range(255, 127, -1)])


def unescaped(data: bytes) -> str:
    """Decode the references to characters in a part of a document, markup included, up to ``_MAX_SHRUNK``.

    Expat reads the part as one text, in which a byte that does not occur stands for "<": thousands of references cost
    less than a scan. UTF-8 takes half the time.
    """
    if b"&" not in data:
        return data.decode("latin-1")
    coding, marks = ("utf-8", (b"\x7f",)) if _is_utf_8(data) else ("iso-8859-1", _MARKS)
    mark = next((each for each in marks if each not in data), b" ")
    left = data.replace(b"<", mark)
    if b"]" in left:
        left = left.replace(b"]]>", b"]] ")
    for _ in range(_MAX_TRIES):
        parser = expat.ParserCreate(coding)
        try:
            text, end = _without_references(parser, left, coding)
        except expat.ExpatError:
            at = max(parser.ErrorByteIndex - len(_ROOT), 0)
            left = left[:at] + b" " + left[at + 1 :]
        else:
            decoded = text.encode(coding, "replace")
            return ((decoded.replace(mark, b"<") if mark != b" " else decoded) + data[end:]).decode("latin-1")
    return data.decode("latin-1")


def _without_references(parser: Any, left: bytes, coding: str) -> tuple[str, int]:
    """Return a text with its references decoded, and the end of the piece in which ``_MAX_SHRUNK`` is exceeded."""
    found: list[str] = []
    parser.buffer_text = True
    parser.CharacterDataHandler = found.append
    parser.Parse(_ROOT, False)
    shrunk = 0
    for at in range(0, len(left), _PIECE):
        piece, before = left[at : at + _PIECE], len(found)
        parser.Parse(piece, False)
        shrunk += len(piece.decode(coding, "ignore")) - sum(map(len, found[before:]))
        if shrunk > _MAX_SHRUNK:
            return "".join(found), parser.CurrentByteIndex - len(_ROOT)
    parser.Parse(b"</r>", True)
    return "".join(found), len(left)


def _is_utf_8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return b"\x7f" not in data
