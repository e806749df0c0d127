"""Decode character sets in which ASCII text has other bytes, so that patterns would not match. No I/O."""

from codecs import charmap_decode, utf_7_decode
from encodings import cp037, cp273, cp424, cp500, cp875, cp1026, cp1140
from encodings.aliases import aliases
from typing import NamedTuple

from gatewall.engine.waf.body.texts import as_wire

_LIKE_ASCII = ("utf-8", "utf8", "us-ascii", "ascii", "iso-8859-", "iso8859", "latin", "windows-125", "cp125", "gb",
               "big5", "euc-", "shift_jis", "shift-jis", "sjis", "koi8", "tis-620", "macroman")  # fmt: skip
_OTHERS = frozenset(
    {
        "utf_7", "utf_16", "utf_16_le", "utf_16_be", "utf_32", "utf_32_le", "utf_32_be", "cp037", "cp273", "cp424",
        "cp500", "cp875", "cp1026", "cp1140", "hz", "iso2022_jp", "iso2022_jp_1", "iso2022_jp_2", "iso2022_jp_3",
        "iso2022_jp_ext", "iso2022_kr",
    }
)  # fmt: skip


_OF_DOCUMENTS = frozenset(
    {
        "big5", "big5hkscs", "cp037", "cp500", "cp932", "cp949", "cp950", "euc_jis_2004", "euc_jp", "euc_kr", "gb18030",
        "gb2312", "gbk", "hz", "iso2022_jp", "iso2022_kr", "shift_jis", "shift_jis_2004", "utf_16_be",
        "utf_16_le", "utf_32", "utf_32_be", "utf_32_le",
    }
)  # fmt: skip
"""Charsets of XML that expat does not read: multi-byte charsets and EBCDIC."""
_TABLES = {
    name: table.replace("\ufffe", "\ufffd")
    for name, table in (
        ("cp037", cp037.decoding_table),
        ("cp273", cp273.decoding_table),
        ("cp424", cp424.decoding_table),
        ("cp500", cp500.decoding_table),
        ("cp875", cp875.decoding_table),
        ("cp1026", cp1026.decoding_table),
        ("cp1140", cp1140.decoding_table),
    )
}
"""Decoding tables of EBCDIC without invalid bytes, because a codec takes a microsecond for each of these."""
_OF_7_BITS = bytes([min(each, 0x7F) for each in range(0x100)])
_MAX_INVALID = 128
"""Number of invalid UTF-7 sequences after which decoding stops: each takes 100 ns, and no client sends any."""
_PIECE = 1_024
_INVALID = "\ufffd"
_NO_SURROGATE = bytes([0xE0 if 0xD8 <= each <= 0xDF else each for each in range(0x100)])
_IN_PLANES = bytes([min(each, 0x0F) for each in range(0x100)])
_NAMES = frozenset({*aliases, *aliases.values(), "utf_8", "ascii"})
_MAX_NAME = 32


class Decoded(NamedTuple):
    """Decoded text as UTF-8 (latin-1 characters); not whole if decoding stopped after too many invalid sequences."""

    text: str
    is_whole: bool = True


def is_known(charset: str) -> bool:
    """True if Python has a codec of this name; ``codecs.lookup`` would cache every name."""
    return len(charset) <= _MAX_NAME and charset.strip().lower().replace("-", "_") in _NAMES


def is_shifted(charset: str) -> bool:
    """True for charsets whose escape sequences change the meaning of ASCII; parsers without them read ASCII."""
    return charset.strip().lower().startswith(("hz", "iso-2022", "iso2022", "iso_2022", "csiso2022"))


def document(data: bytes, charset: str) -> bytes | None:
    """Convert a document to UTF-8 if expat does not read its charset; None for other charsets."""
    name = charset.strip().lower().replace("-", "_")
    name = aliases.get(name, name)
    return decode(data, name).encode("utf-8", "replace") if name in _OF_DOCUMENTS else None


def decoded(text: str, charset: str) -> Decoded | None:
    """Return the text of a charset; None if the charset is not known.

    Text in a charset that extends ASCII is returned unchanged.
    """
    charset = charset.strip().lower()
    if not charset or charset.startswith(_LIKE_ASCII):
        return Decoded(text)
    name = charset.replace("-", "_")
    name = aliases.get(name, name)  # not codecs.lookup, which imports modules and caches each name
    if name not in _OTHERS:
        return None
    data = text.encode("latin-1")
    found, is_whole = _utf_7_decoded(data) if name == "utf_7" else (decode(data, name), True)
    return Decoded(as_wire(found), is_whole)


def _utf_7_decoded(data: bytes) -> tuple[str, bool]:
    """Decode UTF-7 up to the piece in which ``_MAX_INVALID`` is exceeded; return the text and whether it is whole.

    Invalid bytes become U+007F, so that they do not hide the text after them.
    """
    data = data.translate(_OF_7_BITS)
    found: list[str] = []
    at, size, invalid = 0, _PIECE, 0
    while at < len(data) and invalid <= _MAX_INVALID:
        text, length = utf_7_decode(data[at : at + size], "replace", at + size >= len(data))
        size = _PIECE if length else 2 * size  # a sequence is decoded as a whole
        at += length
        invalid += text.count(_INVALID)
        found.append(text)
    return "".join(found), at >= len(data)


def decode(data: bytes, codec: str) -> str:
    """Decode with invalid bytes replaced, like the error handler ``replace``."""
    codec = codec.replace("-", "_")
    if table := _TABLES.get(codec):
        return charmap_decode(data, "strict", table)[0]
    if not codec.startswith(("utf_16", "utf_32")):
        return data.decode(codec, "replace")
    try:
        return data.decode(codec)
    except UnicodeDecodeError:
        return _decoded_units(data, codec)


def _decoded_units(data: bytes, codec: str) -> str:
    """Decode UTF-16 or UTF-32; invalid units and surrogate pairs become other characters that are not ASCII."""
    width = 2 if "16" in codec else 4
    is_little = codec.endswith("le") or (not codec.endswith("be") and data[:1] != (b"\xfe" if width == 2 else b"\0"))
    units = bytearray(data[: len(data) // width * width])
    order = range(width) if is_little else range(width - 1, -1, -1)
    for place, valid in zip(order, (None, _NO_SURROGATE, _IN_PLANES, bytes(0x100)), strict=False):
        if valid is not None:
            units[place::width] = units[place::width].translate(valid)
    text = units.decode(f"utf-{width * 8}-{'le' if is_little else 'be'}")
    return text if codec.endswith(("le", "be")) else text.removeprefix("\ufeff")
