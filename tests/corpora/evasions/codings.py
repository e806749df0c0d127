"""Bodies in a content coding (gzip, deflate, br) or charset, for sites that unpack or decode them."""

import base64
import gzip
import json
import struct
import zlib
from collections.abc import Callable

from tests.corpora.evasions.making import FORM, JSON, Made, Make


def _packed(pack: Callable[[bytes], bytes], coding: str = "gzip", before: str = "") -> Make:
    return lambda payload: Made(JSON, pack(json.dumps({"b": before, "a": payload}).encode()), coding)


def _gzip(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def _member(flags: int, extra: bytes, data: bytes) -> bytes:
    """Return a member of gzip (RFC 1952) with optional fields of its header."""
    body = zlib.compressobj(wbits=-15)
    packed = body.compress(data) + body.flush()
    head = b"\x1f\x8b\x08" + bytes([flags]) + b"\0\0\0\0\0\x03"
    return head + extra + packed + struct.pack("<II", zlib.crc32(data), len(data))


def _raw(data: bytes) -> bytes:
    body = zlib.compressobj(wbits=-15)
    return body.compress(data) + body.flush()


def _in_two(data: bytes) -> bytes:
    return _gzip(data[:9]) + _gzip(data[9:])


def _flushed(data: bytes) -> bytes:
    body = zlib.compressobj(wbits=31)
    return b"".join([body.compress(bytes([each])) + body.flush(zlib.Z_FULL_FLUSH) for each in data]) + body.flush()


def _brotli(data: bytes) -> bytes:
    """Return a stream of Brotli (RFC 7932) with one stored block."""
    # The window has 16 bits, the block is not the last one, its length has four nibbles, and it is not compressed.
    bits = (len(data) - 1) << 4 | 1 << 20
    return bits.to_bytes(3, "little") + data + b"\x03"


CODINGS: dict[str, Make] = {
    "gzip": _packed(_gzip),
    "gzip in capitals": _packed(_gzip, "GZIP"),
    "gzip between blanks": _packed(_gzip, " gzip "),
    "x-gzip": _packed(_gzip, "x-gzip"),
    "gzip without compression": _packed(lambda data: gzip.compress(data, 0, mtime=0)),
    "gzip with a name": _packed(lambda data: _member(8, b"a.json\0", data)),
    "gzip with a comment": _packed(lambda data: _member(16, b"a comment\0", data)),
    "gzip with a further field": _packed(lambda data: _member(4, struct.pack("<H", 4) + b"ab\0\0", data)),
    "gzip in two members": _packed(_in_two),
    "gzip with text behind it": _packed(lambda data: _gzip(data) + b"x" * 20),
    "gzip with zeros behind it": _packed(lambda data: _gzip(data) + bytes(20)),
    "gzip without its end": _packed(lambda data: _gzip(data)[:-8]),
    "gzip with a wrong checksum": _packed(lambda data: _gzip(data)[:-8] + bytes(4) + _gzip(data)[-4:]),
    "gzip with a wrong length": _packed(lambda data: _gzip(data)[:-4] + b"\1\0\0\0"),
    "gzip in one block a byte": _packed(_flushed),
    "gzip of gzip": _packed(lambda data: _gzip(_gzip(data)), "gzip, gzip"),
    "gzip of gzip, named once": _packed(lambda data: _gzip(_gzip(data))),
    "gzip and identity": _packed(_gzip, "gzip, identity"),
    "identity and gzip": _packed(_gzip, "identity, gzip"),
    "identity": _packed(bytes, "identity"),
    "gzip that is none": _packed(bytes),
    "gzip that is not named": _packed(_gzip, ""),
    "deflate": _packed(zlib.compress, "deflate"),
    "deflate without its header": _packed(_raw, "deflate"),
    "deflate with text behind it": _packed(lambda data: zlib.compress(data) + b"x", "deflate"),
    "gzip as deflate": _packed(_gzip, "deflate"),
    "deflate as gzip": _packed(zlib.compress),
    "br": _packed(_brotli, "br"),
    "br in capitals": _packed(_brotli, "BR"),
    "an unknown coding": _packed(bytes, "x-unknown"),
    "a coding of chunks": _packed(bytes, "aws-chunked"),
    "gzip behind 30 KiB": _packed(_gzip, before="some words " * 2_700),
    "a form in gzip": lambda payload: Made(FORM, _gzip(f"a={payload.replace('+', '%2B')}".encode()), "gzip"),
    "a form in br": lambda payload: Made(FORM, _brotli(f"a={payload.replace('+', '%2B')}".encode()), "br"),
}


def _charset(name: str, python: str, kind: str = JSON) -> Make:
    return lambda payload: Made(f"{kind}; charset={name}", json.dumps({"a": payload}).encode(python))


CHARSETS: dict[str, Make] = {
    "JSON in UTF-7": _charset("utf-7", "utf-7"),
    "JSON in UTF-7, quoted": _charset('"utf-7"', "utf-7"),
    "JSON in UTF-7, in capitals": _charset("UTF-7", "utf-7"),
    "JSON in UTF-16 LE": _charset("utf-16le", "utf-16-le"),
    "JSON in UTF-16 BE": _charset("utf-16be", "utf-16-be"),
    "JSON in UTF-16": _charset("utf-16", "utf-16"),
    "JSON in UTF-32": _charset("utf-32", "utf-32"),
    "JSON in utf_7": _charset("utf_7", "utf-7"),
    "JSON in u7": _charset("u7", "utf-7"),
    "JSON in IBM037": _charset("ibm037", "cp037"),
    "JSON in IBM039": _charset("ibm039", "cp037"),
    "JSON in CP500": _charset("cp500", "cp500"),
    "JSON in IBM273": _charset("ibm273", "ibm273"),
    "JSON in CP1140": _charset("cp1140", "cp1140"),
    "JSON in ISO-2022-JP": _charset("iso-2022-jp", "iso-2022-jp"),
    "JSON in HZ": _charset("hz", "hz"),
    "JSON in Shift-JIS": _charset("shift_jis", "shift_jis"),
    "JSON in unicode_escape": _charset("unicode_escape", "unicode_escape"),
    "JSON in Punycode": _charset("punycode", "punycode"),
    "JSON in UTF-7 letter by letter": lambda payload: Made(
        f"{JSON}; charset=utf-7", ('{"a":"' + "".join(map(_in_utf_7, payload)) + '"}').encode()
    ),
}


def _in_utf_7(letter: str) -> str:
    return "+" + base64.b64encode(letter.encode("utf-16-be")).decode().rstrip("=") + "-"
