"""Decode percent-encoding, nested and malformed. Bounded, no I/O; texts are latin-1 and never get longer."""

from binascii import a2b_qp
from codecs import escape_decode
from functools import lru_cache
from secrets import SystemRandom
from urllib.parse import unquote_to_bytes

from gatewall.engine.waf.decoding import PAIRS, character

ROUNDS = 3
"""Rounds of percent-decoding, against double encoding."""
_PAIRS_OF_BYTES = {pair.encode(): code for pair, code in PAIRS.items()}
_BYTE_OF = {pair: bytes([code]) for pair, code in _PAIRS_OF_BYTES.items()}
_SHORT = 1_024
"""Longer texts are decoded as quoted-printable: in a third of the time if they have many escapes."""
_MOST_WIDE = 128
"""``%uXXXX`` of a value that are decoded one by one, besides ``%u00XX``, which is the same as ``%XX``."""
_MANY_IN = 256
"""First characters of a text; if they have over ``_MOST_APART`` escapes, it is decoded as quoted-printable."""
_DIGITS = 4  # of a code point
_MOST_APART = 32
"""Escapes of a value that are decoded one by one if any is malformed."""
_TO_TRY = 16_384
"""Length up to which all escapes of a text are counted, even if one of the first is malformed."""
_SIGNS = b"=\n\r"
"""Bytes with a special meaning in quoted-printable."""
_RANDOM = SystemRandom()
_MARKS = bytes(_RANDOM.sample(range(1, 9), 4))
"""Bytes that stand for ``_SIGNS`` and for a percent sign before another; random, so that no sender knows them."""
_ESCAPES = {bytes([mark]): b"%%%02x" % mark for mark in _MARKS}
_STAND_INS = {mark: b"\xfe" + bytes(_RANDOM.choices(range(0x80, 0xFE), k=5)) for mark in _ESCAPES}
"""Replacement of a mark that occurs in the text itself."""
_FROM_VALID = bytes.maketrans(_MARKS[:3], _SIGNS)
_MALFORMED = bytes.maketrans(b"=", b"%")
_DOUBLE = _MARKS[3:] + b"%"
_TO_QUOTED_PRINTABLE = bytes.maketrans(b"%" + _SIGNS, b"=" + _MARKS[:3])
_FROM_QUOTED_PRINTABLE = bytes.maketrans(b"=" + _MARKS, b"%" + _SIGNS + b"%")


def percent_decoded(text: str) -> str:
    """Decode ``%XX`` and ``%uXXXX`` until nothing changes, at most three times."""
    is_valid = True
    for _ in range(ROUNDS):
        if "%" not in text:
            break
        decoded, is_valid = _bytes_decoded(text.encode("latin-1"), is_valid=is_valid)
        if decoded == text:
            break
        text = decoded
    return text


def decoded_once(data: bytes) -> bytes:
    """Return ``unquote_to_bytes`` of a text, in a tenth of the time for a long text."""
    return _as_quoted_printable(data) if len(data) > _SHORT else unquote_to_bytes(data)


def _bytes_decoded(data: bytes, *, is_valid: bool) -> tuple[str, bool]:
    """Return the decoded text, and whether all escapes are valid; ``is_valid`` if they may be."""
    is_short = len(data) <= _SHORT
    if is_valid and is_short:
        if (
            len(data) > _MANY_IN
            and data.count(b"%", 0, _MANY_IN) > _MOST_APART
            and b"%u" not in data
            and b"%U" not in data
        ):
            return _as_quoted_printable(data).decode("latin-1"), True
        try:  # in C, ten times as fast; raises ValueError for malformed escapes, among them ``%uXXXX``
            return escape_decode(_as_escapes(data))[0].decode("latin-1"), True
        except ValueError:
            pass
    if (b"u" in data and b"%u" in data) or (b"U" in data and b"%U" in data):
        data = _wide_decoded(data)
    if is_short or data.count(b"%", 0, _SHORT) < _MOST_APART:
        first, *parts = data.split(b"%", _MOST_APART)
        if len(parts) < _MOST_APART:
            return _one_by_one(first, parts).decode("latin-1"), not is_short
    return _as_quoted_printable(data).decode("latin-1"), not is_short


def _one_by_one(first: bytes, parts: list[bytes]) -> bytes:
    """Decode the parts after percent signs, some of which are malformed escapes."""
    return first + b"".join(
        [b"%" + part if (byte := _BYTE_OF.get(part[:2])) is None else byte + part[2:] for part in parts]
    )


def _as_escapes(data: bytes) -> bytes:
    return data.replace(b"\\", b"\\\\").replace(b"%", b"\\x")


def _as_quoted_printable(data: bytes) -> bytes:
    """Decode all valid escapes of a text at once; malformed ones are kept."""
    body = data.rstrip(b"%")  # the last sign would be lost
    end = data[len(body) :]
    has_signs = b"=" in body or b"\n" in body or b"\r" in body
    if not (has_signs and _marks_in(body)):
        decoded = a2b_qp(body.translate(_TO_QUOTED_PRINTABLE))
        if len(decoded) == len(body):
            return data
        has_equals = b"=" in decoded and (b"%3D" in body or b"%3d" in body)
        if b"=" not in decoded or (
            has_equals
            and (len(body) < _TO_TRY or not _begins_malformed(body))
            and len(body) - len(decoded) == 2 * (len(body) - len(body.translate(None, b"%")))
        ):  # all are valid
            return (decoded.translate(_FROM_VALID) if has_signs else decoded) + end
        if not has_equals and b"%%" not in body:
            return decoded.translate(_FROM_QUOTED_PRINTABLE if has_signs else _MALFORMED) + end
    return _malformed_decoded(_without_equals(body)) + end


def _begins_malformed(data: bytes) -> bool:
    """True if one of the first escapes is malformed."""
    begin = data[:_SHORT].rpartition(b"%")[0]  # the last escape may be cut
    try:
        escape_decode(_as_escapes(begin))
    except ValueError:
        return True
    return False


def _without_equals(data: bytes) -> bytes:
    """Decode only the escapes of "=", so that each "=" in the quoted-printable result is a malformed escape."""
    return data.replace(b"%3D", b"=").replace(b"%3d", b"=")


def _marks_in(data: bytes) -> set[bytes]:
    """Return the marks that are in a text, as such or as escapes."""
    found = {mark for mark in _STAND_INS if mark in data}
    return found | {mark for mark, escape in _ESCAPES.items() if escape in data} if b"%0" in data else found


def _malformed_decoded(data: bytes) -> bytes:
    """Decode a text without escapes of "=", with malformed escapes or marks, which are kept."""
    marks = _marks_in(data)
    for mark in marks:
        data = data.replace(mark, _STAND_INS[mark]).replace(_ESCAPES[mark], _STAND_INS[mark])
    if b"%%" in data:
        data = data.replace(b"%%", _DOUBLE).replace(b"%%", _DOUBLE)
    decoded = a2b_qp(data.translate(_TO_QUOTED_PRINTABLE)).translate(_FROM_QUOTED_PRINTABLE)
    for mark in marks:
        decoded = decoded.replace(_STAND_INS[mark], mark)
    return decoded


def _wide_decoded(data: bytes) -> bytes:
    """Decode ``%uXXXX``, which old IIS and some frameworks accept; ``%u00XX`` becomes ``%XX``."""
    if b"%U" in data:
        data = data.replace(b"%U", b"%u")
    data = data.replace(b"%u00", b"%")
    if b"%u" not in data:
        return data
    first, *parts = data.split(b"%u", _MOST_WIDE)
    if len(parts) == _MOST_WIDE:
        behind = parts[-1].replace(b"%u", b"?u")  # not decoded again
        data, parts[-1] = data[: len(data) - len(behind)] + behind[:_DIGITS], behind
        behind = behind[_DIGITS:]
    else:
        behind = b""
    if b"\\" not in data and b"%uff" not in data.lower():
        try:  # in C, ten times as fast
            return data.replace(b"%u", rb"\u").decode("raw_unicode_escape").encode("latin-1", "replace") + behind
        except ValueError:  # one of them is malformed
            pass
    found = [first]
    for part in parts:
        byte = _wide(part[:_DIGITS])
        found.append(b"%u" + part if byte is None else byte + part[_DIGITS:])
    return b"".join(found)


@lru_cache(maxsize=2048)
def _wide(digits: bytes) -> bytes | None:
    """Return the byte of a code point in four digits; None if they are not hexadecimal."""
    high, low = _PAIRS_OF_BYTES.get(digits[:2]), _PAIRS_OF_BYTES.get(digits[2:])
    return None if high is None or low is None else character(high << 8 | low).encode("latin-1")


def has_too_many_wide(text: str) -> bool:
    """True if full-width letters may be among more ``%uXXXX`` than are decoded, in any layer of encoding."""
    lower = text.lower()
    return "uff" in lower and lower.count("%u") + lower.count("25u") - lower.count("%u00") > _MOST_WIDE
