"""Compare a recorded path with the path that was sent: equal, normalized, or changed. Pure."""

import posixpath
import re
from enum import StrEnum

_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_NOT_ENCODED = _UNRESERVED | frozenset("!$&'()*+,;=:@/%")
_ENCODED = re.compile(r"%([0-9A-Fa-f]{2})")
_SLASHES = re.compile(r"/{2,}")


class Spelling(StrEnum):
    """Unchanged; equal by RFC 3986 section 6.2.2; equal after path normalization; different."""

    RAW = "raw"
    SAME = "same"
    RESOLVED = "resolved"
    OTHER = "other"


def compare(sent: str, arrived: str) -> Spelling:
    """Compare the path that arrived with the path that was sent."""
    if sent == arrived:
        return Spelling.RAW
    if _normal(sent) == _normal(arrived):
        return Spelling.SAME
    return Spelling.RESOLVED if _resolved(sent) == _normal(arrived) else Spelling.OTHER


def _normal(path: str) -> str:
    """Return the path with canonical percent-encoding."""
    plain = _ENCODED.sub(_decoded_if_unreserved, path)
    return "".join(char if char in _NOT_ENCODED else f"%{ord(char):02X}" for char in plain)


def _decoded_if_unreserved(match: re.Match[str]) -> str:
    character = chr(int(match[1], 16))
    return character if character in _UNRESERVED else match[0].upper()


def _resolved(path: str) -> str:
    """Return the path without ``//`` and dot segments."""
    return posixpath.normpath(_SLASHES.sub("/", _normal(path)))
