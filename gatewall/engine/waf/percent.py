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
_WIDE = frozenset({b"u", b"U"})
_MOST_WIDE = 128
"""Percent signs of a value that may begin ``%uXXXX``; what is behind them is decoded as ``%XX`` only."""
_MOST_MALFORMED = 64
"""Escapes of a value that are decoded one by one if any is malformed; malformed ones behind them lose their sign."""
_FIRST = 1_024
_MANY_ESCAPES = 2_048  # of a text that is worth decoding as quoted-printable
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
    if is_long:
        if is_tried and (found := _decoded_as_quoted_printable(data)) is not None:
            return found.decode("latin-1"), True
    elif is_valid:
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
    if is_long and not (is_tried or _begins_malformed(rest)):
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
    """Decode ``%XX`` of a long text with very many escapes, all valid, in a quarter of the time; None for others."""
    escapes = data.count(b"%")
    if escapes < _MANY_ESCAPES:
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
    """Decode ``%uXXXX``, which old IIS and some frameworks accept."""
    first, *parts = data.split(b"%", _MOST_WIDE)
    if _WIDE.isdisjoint([part[:1] for part in parts]):
        return data
    found = [first]
    for part in parts:
        high, low = _PAIRS_OF_BYTES.get(part[1:3]), _PAIRS_OF_BYTES.get(part[3:5])
        if high is None or low is None or part[:1] not in _WIDE:
            found.append(b"%" + part)
        else:
            found.append(character(high << 8 | low).encode("latin-1") + part[5:])
    return b"".join(found)
