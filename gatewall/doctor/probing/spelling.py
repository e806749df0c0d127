"""Compare a recorded path with the path that was sent: equal, normalized, or changed. Pure."""

import posixpath
import re
from enum import StrEnum

_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_AS_IT_IS = _UNRESERVED | frozenset("!$&'()*+,;=:@/%")
_ENCODED = re.compile(r"%([0-9A-Fa-f]{2})")
_SLASHES = re.compile(r"/{2,}")


class Spelling(StrEnum):
    """As it was sent; the same by RFC 3986 section 6.2.2; the same once tidied up; another path."""

    RAW = "raw"
    SAME = "same"
    RESOLVED = "resolved"
    OTHER = "other"


def compare(sent: str, arrived: str) -> Spelling:
    """Return how far the path that arrived is the one that was sent."""
    if sent == arrived:
        return Spelling.RAW
    if _normal(sent) == _normal(arrived):
        return Spelling.SAME
    return Spelling.RESOLVED if _resolved(sent) == _normal(arrived) else Spelling.OTHER


def _normal(path: str) -> str:
    """Return the path in one spelling: what need not be encoded is not, everything else is, in capital letters."""
    plain = _ENCODED.sub(_decoded_if_unreserved, path)
    return "".join(char if char in _AS_IT_IS else f"%{ord(char):02X}" for char in plain)


def _decoded_if_unreserved(match: re.Match[str]) -> str:
    character = chr(int(match[1], 16))
    return character if character in _UNRESERVED else match[0].upper()


def _resolved(path: str) -> str:
    """Return the path without ``//`` and dot segments, which some proxies resolve for gate and site alike."""
    return posixpath.normpath(_SLASHES.sub("/", _normal(path)))
