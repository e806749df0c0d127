"""Decode percent-encoding, nested and malformed. Bounded, no I/O; texts are latin-1 and never get longer."""

from binascii import a2b_qp
from codecs import escape_decode

from gatewall.engine.waf.decoding import PAIRS, character

ROUNDS = 3
"""Rounds of percent-decoding, against double encoding."""
_PAIRS_OF_BYTES = {pair.encode(): code for pair, code in PAIRS.items()}
_BYTE_OF = {pair: bytes([code]) for pair, code in _PAIRS_OF_BYTES.items()}
_BEGINNING = 8_192
"""Longer texts are decoded in other ways."""
_LONG = 16_384
"""Characters of a text with many escapes in which ``%uXXXX`` is decoded."""
_MOST_WIDE = 128
"""``%uXXXX`` of a value that are decoded one by one, besides ``%u00XX``, which is the same as ``%XX``."""
_MOST_MALFORMED = 64
"""Escapes of a value that are decoded one by one if any is malformed; malformed ones behind them lose their sign."""
_FIRST = 1_024
_MANY_ESCAPES = 2_048  # of a long text that is worth decoding as quoted-printable
_DENSE = 1_024  # characters of a shorter one, of which at least one in six is an escape
_MOST_APART = 6
_TO_QUOTED_PRINTABLE = bytes.maketrans(b"%", b"=")
_OTHERWISE_READ = ((b"=", b"%3D"), (b"\n", b"%0A"), (b"\r", b"%0D"))
"""What has a meaning in quoted-printable, and what stands for it."""


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


def _bytes_decoded(data: bytes, *, is_valid: bool) -> tuple[str, bool]:
    """Return the decoded text, and whether all escapes are valid; ``is_valid`` if they may be."""
    is_long = len(data) > _BEGINNING
    is_tried = is_valid and not (is_long and _begins_malformed(data))
    found = _decoded_as_quoted_printable(data) if is_tried and len(data) > _DENSE else None
    if found is not None:
        return found.decode("latin-1"), True
    if is_valid and not is_long:
        try:  # in C, ten times as fast; raises ValueError for malformed escapes, among them ``%uXXXX``
            return escape_decode(_as_escapes(data))[0].decode("latin-1"), True
        except ValueError:
            pass
    if b"u" in data or b"U" in data:
        data = _wide_decoded(data)
    first, *parts = data.split(b"%", _MOST_MALFORMED)
    if len(parts) < _MOST_MALFORMED:
        return _one_by_one(first, parts).decode("latin-1"), False
    rest = b"%" + parts.pop()
    found = None
    if is_long and not (is_tried or _begins_malformed(rest) or b"%u" in data[_LONG : _LONG + _FIRST]):
        found = _decoded_as_quoted_printable(rest)
    if found is None:
        found = escape_decode(_as_escapes(rest), "ignore")[0]
    return (_one_by_one(first, parts) + found).decode("latin-1"), False


def _one_by_one(first: bytes, parts: list[bytes]) -> bytes:
    """Decode what percent signs begin, some of which are malformed."""
    return first + b"".join(
        [b"%" + part if (byte := _BYTE_OF.get(part[:2])) is None else byte + part[2:] for part in parts]
    )


def _begins_malformed(data: bytes) -> bool:
    """True if one of the first escapes is malformed: a try to decode the whole would be in vain."""
    begin = data[:_FIRST].rpartition(b"%")[0]  # the last escape may be cut
    try:
        escape_decode(_as_escapes(begin))
    except ValueError:
        return True
    return False


def _decoded_as_quoted_printable(data: bytes) -> bytes | None:
    """Decode ``%XX`` of a text with very many escapes, all valid, in a quarter to half of the time; None for others."""
    escapes = data.count(b"%")
    if escapes < min(_MANY_ESCAPES, len(data) // _MOST_APART):
        return None
    for sign, escape in _OTHERWISE_READ:
        if sign in data:
            count = data.count(sign)
            if count > escapes // 2:  # replacing them costs what is saved
                return None
            escapes += count
            data = data.replace(sign, escape)
    cut = data[-2:].find(b"%")  # half an escape at the end of a cut text
    end = len(data) - 2 + cut if cut >= 0 else len(data)
    decoded = a2b_qp(data[:end].translate(_TO_QUOTED_PRINTABLE))
    if end - len(decoded) != 2 * (escapes - data.count(b"%", end)):
        return None  # a malformed one gets no shorter by two
    return decoded + data[end:]


def _as_escapes(data: bytes) -> bytes:
    return data.replace(b"\\", b"\\\\").replace(b"%", b"\\x")


def _wide_decoded(data: bytes) -> bytes:
    """Decode ``%uXXXX``, which old IIS and some frameworks accept; ``%u00XX`` becomes ``%XX``.

    Of a long text with many escapes, in its beginning.
    """
    rest = b""
    if len(data) > _LONG and data.count(b"%") > _MOST_WIDE:
        data, rest = data[:_LONG], data[_LONG:]
    if b"%U" in data:
        data = data.replace(b"%U", b"%u")
    first, *parts = data.replace(b"%u00", b"%").split(b"%u", _MOST_WIDE)
    if len(parts) == _MOST_WIDE:
        parts[-1] = parts[-1].replace(b"%u", b"?u")  # not looked at again
    found = [first]
    for part in parts:
        high, low = _PAIRS_OF_BYTES.get(part[:2]), _PAIRS_OF_BYTES.get(part[2:4])
        if high is None or low is None:
            found.append(b"%u" + part)
        else:
            found.append(character(high << 8 | low).encode("latin-1") + part[4:])
    return b"".join(found) + rest


def has_too_many_wide(text: str) -> bool:
    """True if full-width letters may be among more ``%uXXXX`` than are decoded, in any layer of encoding."""
    lower = text.lower()
    return "uff" in lower and lower.count("%u") + lower.count("25u") - lower.count("%u00") > _MOST_WIDE
