"""Quirks of multipart bodies: delimiters, boundaries, heads of parts, names, transfer encodings and charsets."""

import base64
import gzip
import quopri
import textwrap

from tests.corpora.evasions.making import PARTS, Made, Make, parts

_FIELD = "Content-Disposition: form-data; name="
_TYPE = "multipart/form-data; "
_HIDDEN = '--{0}\r\nContent-Disposition: form-data; name="a"\r\n\r\n{1}\r\n--{0}--\r\n'


def _lines(text: str, kind: str = PARTS) -> Make:
    """Return how to make a body as it is written, with ``{}`` for the payload."""
    return lambda payload: Made(kind, text.replace("{}", payload).encode("latin-1"))


def _two_boundaries(kind: str) -> Make:
    """Return a body with a file for parsers that take the boundary b; for those that take c, a field is in it."""

    def make(payload: str) -> Made:
        file = '--b\r\nContent-Disposition: form-data; name="f"; filename="f.bin"\r\n\r\n'
        return Made(kind, f"{file}{_HIDDEN.format('c', payload)}--b--\r\n".encode("latin-1"))

    return make


def _coded(charset: str, head: str = _FIELD + '"a"', kind: str = "", python: str = "") -> Make:
    def make(payload: str) -> Made:
        begin, end = f"--b\r\n{head}\r\n\r\n".encode(), b"\r\n--b--\r\n"
        return Made(kind or f"{PARTS}; charset={charset}", begin + payload.encode(python or charset) + end)

    return make


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


_TRANSFER = f'{_FIELD}"a"\nContent-Transfer-Encoding: '
_OTHER = '--b\r\nContent-Disposition: form-data; name="x"\r\n\r\n{}\r\n'
_ONE = '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n{}\r\n'
_FILE = '--b\r\nContent-Disposition: form-data; name="f"; filename="f.bin"\r\n\r\n'
_LONG = "bndry" * 14

DELIMITERS: dict[str, Make] = {
    "a part behind the last delimiter": _lines(_OTHER.format(1) + "--b--\r\n" + _ONE + "--b--\r\n"),
    "a field in the text behind": parts(behind="x=1\n"),
    "a blank behind the delimiter": _lines(_ONE.replace("--b", "--b ") + "--b--\r\n"),
    "a tab behind the delimiter": _lines(_ONE.replace("--b", "--b\t") + "--b--\r\n"),
    "text behind the delimiter": _lines(_ONE.replace("--b", "--bx") + "--b--\r\n"),
    "two dashes behind the first delimiter": _lines(_ONE.replace("--b", "--b--") + "--b--\r\n"),
    "one dash behind the last delimiter": _lines(_ONE + "--b-\r\n"),
    "the last delimiter without a line break": _lines(_ONE + "--b--"),
    "an empty line before the first delimiter": _lines("\r\n" + _ONE + "--b--\r\n"),
    "ten empty lines before the first delimiter": _lines("\r\n" * 10 + _ONE + "--b--\r\n"),
    "no line break before the last delimiter": _lines(_ONE.removesuffix("\r\n") + "--b--\r\n"),
    "a line feed before the last delimiter": _lines(_ONE.removesuffix("\r\n") + "\n--b--\r\n"),
    "a line feed behind the delimiter": _lines(_ONE.replace("--b\r\n", "--b\n") + "--b--\r\n"),
    "line feeds in the head": _lines(_ONE.replace("\r\n\r\n", "\n\n") + "--b--\r\n"),
    "a line feed and an empty line with CRLF": _lines(_ONE.replace("\r\n\r\n", "\n\r\n") + "--b--\r\n"),
    "lines that end in CR": parts(end="\r"),
    "lines that end in CR CR LF": parts(end="\r\r\n"),
    "an empty line before the head": _lines(_ONE.replace("--b\r\n", "--b\r\n\r\n") + "--b--\r\n"),
    "the body ends in the payload": _lines(_ONE.removesuffix("\r\n")),
    "the body ends within a delimiter": _lines(_ONE + "--"),
    "a delimiter within the line": _lines(_ONE.replace("{}", "x--b {}") + "--b--\r\n"),
    "a longer delimiter within it": _lines(_ONE.replace("{}", "x\r\n--bx\r\n{}") + "--b--\r\n"),
    "a delimiter in a file": _lines(_FILE + "data\r\n" + _ONE + "--b--\r\n"),
    "behind a delimiter in a file with LF": _lines(_FILE + "data\n" + _ONE + "--b--\r\n"),
    "behind a delimiter in a file with CR": _lines(_FILE + "data\r" + _ONE + "--b--\r\n"),
    "behind a file of 30 KiB": _lines(_FILE + "data" * 7_500 + "\r\n" + _ONE + "--b--\r\n"),
    "behind a field of 30 KiB": _lines(_OTHER.format("some words " * 2_700) + _ONE + "--b--\r\n"),
    "behind 25 small parts": _lines(_OTHER.format(1) * 25 + _ONE + "--b--\r\n"),
    "the first of 25 parts": _lines(_ONE + _OTHER.format(1) * 25 + "--b--\r\n"),
    "990 parts before it": _lines(_OTHER.format(1).replace("\r\n\r\n1", "\r\n\r\n1") * 880 + _ONE + "--b--\r\n"),
    "JSON before the first delimiter": _lines('{"a":1}\r\n' + _ONE + "--b--\r\n"),
    "a form before the first delimiter": _lines("a=1&b=2\r\n" + _ONE + "--b--\r\n"),
    "XML before the first delimiter": _lines("<a/>\r\n" + _ONE + "--b--\r\n"),
    "the same name twice": _lines(_ONE.replace("{}", "1") + _ONE + "--b--\r\n"),
    "the first of the same name": _lines(_ONE + _ONE.replace("{}", "1") + "--b--\r\n"),
    "a list of parts": _lines(_ONE.replace('"a"', '"a[]"') * 2 + "--b--\r\n"),
}
_BOUNDARIES = {
    "another boundary behind it": f"{_TYPE}boundary=c; boundary=b",
    "another boundary before it": f"{_TYPE}boundary=b; boundary=c",
    "a parameter that ends in boundary": f"{_TYPE}xboundary=c; boundary=b",
    "a boundary in a quoted parameter": f'{_TYPE}x="boundary=c"; boundary=b',
    "a boundary in a parameter with a semicolon": f'{_TYPE}x="; boundary=c"; boundary=b',
    "a boundary in single quotes in a parameter": f"{_TYPE}x='; boundary=c; y='; boundary=b",
    "an encoded boundary": f"{_TYPE}boundary*=utf-8''c; boundary=b",
    "an encoded boundary behind it": f"{_TYPE}boundary=b; boundary*=utf-8''c",
    "a boundary in pieces": f"{_TYPE}boundary*0=c; boundary=b",
    "a comma between two boundaries": f"{_TYPE}boundary=c, boundary=b",
    "two media types of parts": f"{_TYPE}boundary=c, {_TYPE}boundary=b",
    "two media types of parts, the other order": f"{_TYPE}boundary=b, {_TYPE}boundary=c",
    "a boundary with a blank in it": f"{_TYPE}boundary=c b; boundary=b",
    "a boundary without an equals sign": f"{_TYPE}boundary; boundary=b; boundary=c",
    "a boundary that is escaped": f'{_TYPE}boundary="\\c"; x=b',
}
BOUNDARIES: dict[str, Make] = {name: _two_boundaries(kind) for name, kind in _BOUNDARIES.items()}
_SPELLINGS = {
    "a boundary with blanks around the equals sign": f"{_TYPE}boundary = b",
    "a boundary behind a tab": "multipart/form-data;\tboundary=b",
    "a boundary without a blank": "multipart/form-data;boundary=b",
    "a semicolon behind the boundary": f"{_TYPE}boundary=b;",
    "a blank behind the boundary": f"{_TYPE}boundary=b ",
    "two semicolons before the boundary": "multipart/form-data;; boundary=b",
    "a boundary without a semicolon": "multipart/form-data boundary=b",
    "a comma before the boundary": "multipart/form-data, boundary=b",
    "a boundary with an open quote": f'{_TYPE}boundary="b',
    "text behind the quoted boundary": f'{_TYPE}boundary="b"x',
    "a boundary in both cases": f"{_TYPE}bOUNDARy=b",
    "media type multipart/mixed": "multipart/mixed; boundary=b",
    "media type multipart/related": "multipart/related; boundary=b",
    "a longer media type of parts": "multipart/form-data-x; boundary=b",
    "a media type in quotes": '"multipart/form-data"; boundary=b',
    "a comment behind the media type of parts": "multipart/form-data (x); boundary=b",
    "an unknown parameter without a value": "multipart/form-data; x; boundary=b",
}
SPELLINGS: dict[str, Make] = {name: parts(kind=kind) for name, kind in _SPELLINGS.items()} | {
    "a boundary of 70 characters": lambda payload: Made(
        f"{_TYPE}boundary={_LONG}", _HIDDEN.format(_LONG, payload).encode()
    ),
    "a boundary of 200 characters": lambda payload: Made(
        f"{_TYPE}boundary={_LONG * 3}", _HIDDEN.format(_LONG * 3, payload).encode()
    ),
    "a boundary with blanks": lambda payload: Made(f'{_TYPE}boundary="b c"', _HIDDEN.format("b c", payload).encode()),
    "a boundary with punctuation": lambda payload: Made(
        f'{_TYPE}boundary="b\'()+_,-./:=?c"', _HIDDEN.format("b'()+_,-./:=?c", payload).encode()
    ),
    "a boundary of dashes": lambda payload: Made(f"{_TYPE}boundary=----", _HIDDEN.format("----", payload).encode()),
}
_HEADS = {
    "an encoded file name": f"{_FIELD}\"a\"; filename*=UTF-8''x",
    "a file name in pieces": f'{_FIELD}"a"; filename*0="x"',
    "a file name without a value": f'{_FIELD}"a"; filename',
    "an empty file name": f'{_FIELD}"a"; filename=""',
    "an empty file name without quotes": f'{_FIELD}"a"; filename=',
    "a blank before the equals sign of a file name": f'{_FIELD}"a"; filename ="x"',
    "a file name in capitals": f'{_FIELD}"a"; FILENAME="x"',
    "a comma before the file name": f'{_FIELD}"a", filename="x"',
    "no semicolon before the file name": f'{_FIELD}"a" filename="x"',
    "a file name in another parameter": f'{_FIELD}"a"; x="; filename=y"',
    "a file name in an escaped name": rf'{_FIELD}"a\"; filename=\"x"',
    "a file name in single quotes": f"{_FIELD}'a; filename=x'",
    "a file name behind an open quote": f'{_FIELD}"a; filename=x',
    "a file name in another header": f'X-Other: filename="x"\n{_FIELD}"a"',
    "a file name in a second disposition": f'{_FIELD}"a"\nContent-Disposition: form-data; name="a"; filename="x"',
    "a file name in a first disposition": f'Content-Disposition: form-data; name="f"; filename="x"\n{_FIELD}"a"',
    "a file name behind a line break": f'{_FIELD}"a";\n filename=""',
    "a file name behind an empty parameter": f'{_FIELD}"a";; ; filename=""',
    "a file name behind a backslash": rf'{_FIELD}"a\"; filename=x',
    "a file name with a NUL": f'{_FIELD}"a"; file\x00name="x"',
    "a disposition of an attachment": 'Content-Disposition: attachment; name="a"',
    "a disposition without a kind": 'Content-Disposition: name="a"',
    "a disposition without a semicolon": 'Content-Disposition: form-data name="a"',
    "a disposition of another kind": 'Content-Disposition: x; name="a"',
    "a blank before the colon": 'Content-Disposition : form-data; name="a"',
    "a blank before the header": f' {_FIELD}"a"',
    "a tab behind the colon": 'Content-Disposition:\tform-data;\tname="a"',
    "an underscore in the header": f'Content_Disposition: form-data; name="b"\n{_FIELD}"a"',
    "a header without a colon": f'X-Other\n{_FIELD}"a"',
    "a header with an empty name": f': x\n{_FIELD}"a"',
    "a header of 1 KiB": f'X-Other: {"y" * 1_024}\n{_FIELD}"a"',
    "a header of 3 KiB": f'X-Other: {"y" * 3_072}\n{_FIELD}"a"',
    "20 headers": "".join(f"X-{each}: y\n" for each in range(20)) + f'{_FIELD}"a"',
    "a header folded with a tab": 'Content-Disposition: form-data;\n\tname="a"',
    "a header folded twice": 'Content-Disposition:\n form-data;\n name="a"',
    "a length of the part": f'{_FIELD}"a"\nContent-Length: 3',
    "an encoded name": f"{_FIELD}\"b\"; name*=utf-8''a",
    "an encoded name alone": "Content-Disposition: form-data; name*=utf-8''a",
    "a name in pieces": 'Content-Disposition: form-data; name*0="a"; name*1="b"',
    "an empty name of a part": f'{_FIELD}""',
    "no name": "Content-Disposition: form-data",
    "a blank before the equals sign": 'Content-Disposition: form-data; name ="a"',
    "a blank behind the equals sign": 'Content-Disposition: form-data; name= "a"',
    "a blank before the semicolon": f'{_FIELD}"a" ; x=y',
    "a semicolon at the end": f'{_FIELD}"a";',
    "a name that is not ASCII, of a part": f'{_FIELD}"\xc3\xa9"',
    "a percent-encoded name": f'{_FIELD}"%61"',
    "a backslash in a name": rf'{_FIELD}"a\b"',
    "a NUL in the name of a part": f'{_FIELD}"a\x00b"',
    "a line break in the name of a part": f'{_FIELD}"a%0D%0Ab"',
    "a name with an open bracket, of a part": f'{_FIELD}"a[b"',
    "HTML by its media type": f'{_FIELD}"a"\nContent-Type: text/html',
    "JSON by its media type": f'{_FIELD}"a"\nContent-Type: application/json',
    "a form by its media type": f'{_FIELD}"a"\nContent-Type: application/x-www-form-urlencoded',
    "an odd media type of the part": f'{_FIELD}"a"\nContent-Type: ;;; x',
    "UTF-8 by its media type": f'{_FIELD}"a"\nContent-Type: text/plain; charset=utf-8',
    "an unknown charset of the part": f'{_FIELD}"a"\nContent-Type: text/plain; charset=x-unknown',
    "a binary transfer encoding": f"{_TRANSFER}binary",
    "an unknown transfer encoding": f"{_TRANSFER}x-other",
    "a part that says it is packed": f'{_FIELD}"a"\nContent-Encoding: gzip',
}
HEADS: dict[str, Make] = {name: parts(head) for name, head in _HEADS.items()}
TRANSFERS: dict[str, Make] = {
    "part in base64, in capitals": parts(f"{_TRANSFER}BASE64", encode=_base64),
    "part in base64 with a blank behind it": parts(f"{_TRANSFER}base64 ", encode=_base64),
    "part in base64 with a comment": parts(f"{_TRANSFER}base64 (x)", encode=_base64),
    "part in base64 with line breaks": parts(
        f"{_TRANSFER}base64", encode=lambda text: "\n".join(textwrap.wrap(_base64(text), 4))
    ),
    "part in base64 without padding": parts(f"{_TRANSFER}base64", encode=lambda text: _base64(text).rstrip("=")),
    "part in base64 with odd characters": parts(f"{_TRANSFER}base64", encode=lambda text: "!" + _base64(text)),
    "part in quoted-printable with soft line breaks": parts(
        f"{_TRANSFER}quoted-printable",
        encode=lambda text: "=\n".join(quopri.encodestring(each.encode(), quotetabs=True).decode() for each in text),
    ),
    "part in quoted-printable in small letters": parts(
        f"{_TRANSFER}Quoted-Printable", encode=lambda text: "".join(f"={byte:02x}" for byte in text.encode())
    ),
    "parts in a part": parts(
        f'{_FIELD}"f"\nContent-Type: multipart/mixed; boundary=c',
        encode=lambda text: f'--c\n{_FIELD}"a"\n\n{text}\n--c--',
    ),
    "a packed part": lambda payload: Made(
        PARTS,
        f'--b\r\n{_FIELD}"a"\r\nContent-Encoding: gzip\r\n\r\n'.encode() + gzip.compress(payload.encode())
        + b"\r\n--b--\r\n",
    ),
}  # fmt: skip
MULTIPARTS: dict[str, Make] = {**DELIMITERS, **BOUNDARIES, **SPELLINGS, **HEADS, **TRANSFERS}
DJANGO: dict[str, Make] = {
    "parts in UTF-7": _coded("utf-7"),
    "parts in utf_7": _coded("utf_7"),
    "parts in u7": _coded("u7"),
    "parts in unicode-1-1-utf-7": _coded("unicode-1-1-utf-7"),
    "parts in IBM037": _coded("ibm037"),
    "parts in IBM039": _coded("ibm039"),
    "parts in ebcdic-cp-us": _coded("ebcdic-cp-us"),
    "parts in IBM273": _coded("ibm273"),
    "parts in CP1140": _coded("cp1140"),
    "parts in CP875": _coded("cp875"),
    "parts in UTF-16": _coded("utf-16"),
    "parts in UTF-16 LE": _coded("utf-16le"),
    "parts in UTF-16 BE": _coded("utf_16_be"),
    "parts in UTF-32": _coded("utf-32"),
    "parts in UTF-32 BE": _coded("utf-32-be"),
    "parts in HZ": _coded("hz"),
    "parts in ISO-2022-JP": _coded("iso-2022-jp"),
    "parts in ISO-2022-KR": _coded("iso2022_kr"),
    "parts in Shift-JIS": _coded("shift_jis"),
    "parts in Big5": _coded("big5"),
    "parts in GB18030": _coded("gb18030"),
    "parts in KOI8-R": _coded("koi8-r"),
    "parts in unicode_escape": _coded("unicode_escape"),
    "parts in raw_unicode_escape": _coded("raw_unicode_escape"),
    "parts in Punycode": _coded("punycode"),
    "parts in UTF-7 with a quoted charset": _coded("", kind=f'{PARTS}; charset="utf-7"', python="utf-7"),
    "parts in UTF-7 with the charset before": _coded("", kind=f"{_TYPE}charset=utf-7; boundary=b", python="utf-7"),
    "a part in UTF-7": _coded(
        "", f'{_FIELD}"a"\r\nContent-Type: text/plain; charset=utf-7', kind=PARTS, python="utf-7"
    ),
    "a part in UTF-16": _coded(
        "", f'{_FIELD}"a"\r\nContent-Type: text/plain; charset=utf-16', kind=PARTS, python="utf-16"
    ),
}
