"""Character sets in which ASCII does not look like ASCII, so that patterns would not match. No I/O."""

from gatewall.engine.waf.body.texts import as_wire

_LIKE_ASCII = ("utf-8", "utf8", "us-ascii", "ascii", "iso-8859-", "iso8859", "latin", "windows-125", "cp125", "gb",
               "big5", "euc-", "shift_jis", "shift-jis", "sjis", "koi8", "tis-620", "macroman")  # fmt: skip
_OTHERS = frozenset(
    {
        "utf-7", "utf7", "utf-16", "utf16", "utf-16le", "utf-16be", "utf-32", "utf-32le", "utf-32be", "ibm037", "cp037",
        "ibm500", "cp500", "ibm1026", "cp1026", "ibm1140", "cp1140", "ibm273", "cp273", "ibm424", "cp424", "cp875",
        "hz", "hz-gb-2312", "iso-2022-jp", "iso-2022-kr",
    }
)  # fmt: skip


def decoded(text: str, charset: str) -> str | None:
    """Return the text of a charset as UTF-8 (latin-1 characters); None if the charset is not known.

    Text in a charset that extends ASCII is returned unchanged.
    """
    charset = charset.strip().lower()
    if not charset or charset.startswith(_LIKE_ASCII):
        return text
    if charset not in _OTHERS:
        return None
    return as_wire(text.encode("latin-1").decode(charset.replace("ibm", "cp"), "replace"))
