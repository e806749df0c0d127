"""Character sets in which ASCII does not look like ASCII, so that patterns would not match. No I/O."""

from encodings.aliases import aliases

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
"""Charsets of XML that expat does not read: those of several bytes a character, and EBCDIC."""
_NAMES = frozenset({*aliases, *aliases.values(), "utf_8", "ascii"})
_MAX_NAME = 32


def is_known(charset: str) -> bool:
    """True if Python has a codec of this name, without a look-up: codecs keep every name that is asked for."""
    return len(charset) <= _MAX_NAME and charset.strip().lower().replace("-", "_") in _NAMES


def is_shifted(charset: str) -> bool:
    """True if ASCII stands for other characters behind an escape: parsers without the charset read it as ASCII."""
    return charset.strip().lower().startswith(("hz", "iso-2022", "iso2022", "iso_2022", "csiso2022"))


def document(data: bytes, charset: str) -> bytes | None:
    """Return a document in UTF-8 whose charset expat does not read; None for other charsets."""
    name = charset.strip().lower().replace("-", "_")
    name = aliases.get(name, name)
    return data.decode(name, "replace").encode("utf-8", "replace") if name in _OF_DOCUMENTS else None


def decoded(text: str, charset: str) -> str | None:
    """Return the text of a charset as UTF-8 (latin-1 characters); None if the charset is not known.

    Text in a charset that extends ASCII is returned unchanged.
    """
    charset = charset.strip().lower()
    if not charset or charset.startswith(_LIKE_ASCII):
        return text
    name = charset.replace("-", "_")
    name = aliases.get(name, name)  # not a look-up of codecs, which imports, and keeps each name that is asked for
    if name not in _OTHERS:
        return None
    return as_wire(text.encode("latin-1").decode(name, "replace"))
