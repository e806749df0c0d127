"""Transforms of WAF rules, each a bounded function from bytes to bytes. No I/O."""

import base64
import binascii
from collections.abc import Callable

from gatewall.engine.waf.decoding import unreferenced
from gatewall.engine.waf.forms import Value, canonical_path, decode
from gatewall.engine.waf.rules import Transform


def _html_decode(value: bytes) -> bytes:
    """Decode HTML entities to UTF-8; invalid UTF-8 is kept."""
    if b"&" not in value:
        return value
    return unreferenced(value.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def _base64_decode(value: bytes) -> bytes:
    """Decode base64; return the value unchanged if it is not."""
    try:
        padded = value.strip() + b"=" * (-len(value.strip()) % 4)
        return base64.b64decode(padded, altchars=b"-_" if {45, 95} & set(value) else None, validate=True)
    except (binascii.Error, ValueError):
        return value


_FUNCTIONS: dict[Transform, Callable[[bytes], bytes]] = {
    Transform.LOWERCASE: bytes.lower,
    Transform.URL_DECODE: decode,
    Transform.HTML_DECODE: _html_decode,
    Transform.BASE64_DECODE: _base64_decode,
    Transform.COMPRESS_WHITESPACE: lambda value: b" ".join(value.split()),
    Transform.REMOVE_WHITESPACE: lambda value: b"".join(value.split()),
    Transform.REMOVE_NULS: lambda value: value.replace(b"\0", b""),
    Transform.NORMALIZE_PATH: canonical_path,
}


def apply(transforms: tuple[Transform, ...], value: bytes) -> bytes:
    """Apply the transforms in order."""
    for transform in transforms:
        value = _FUNCTIONS[transform](value)
    return value


def apply_to_all(transforms: tuple[Transform, ...], values: tuple[Value, ...]) -> tuple[Value, ...]:
    """Apply the transforms to named values."""
    for transform in transforms:
        function = _FUNCTIONS[transform]
        values = tuple([(name, function(value)) for name, value in values])
    return values
