"""Machine tokens: 256 random bits with a readable prefix and a checksum. Only digests are stored."""

import hashlib
import secrets
import zlib
from dataclasses import dataclass, field

API_TOKEN_PREFIX = "gwa_"
APP_TOKEN_PREFIX = "gwp_"
GIT_TOKEN_PREFIX = "gwg_"
LINK_PREFIX = "gwi_"
LICENSE_PREFIX = "gwl_"
SHARE_LINK_PREFIX = "gws_"
_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_BODY_LENGTH = 43  # 62 ** 43 > 2 ** 256
_CHECKSUM_LENGTH = 6  # 62 ** 6 > 2 ** 32
_SHOWN_LENGTH = 10


@dataclass(frozen=True, slots=True)
class MachineToken:
    """A newly generated token: the text is shown once, prefix and digest are stored."""

    text: str = field(repr=False)

    @property
    def prefix(self) -> str:
        """The first characters, for telling tokens apart."""
        return self.text[:_SHOWN_LENGTH]

    @property
    def digest(self) -> str:
        return digest_of(self.text)


def new_token(prefix: str) -> MachineToken:
    """Return a new token with this prefix."""
    body = prefix + _base62(secrets.randbits(256), _BODY_LENGTH)
    return MachineToken(body + _checksum(body))


def digest_of(token: str) -> str:
    """Return the SHA-256 digest (hex) of a token, for storage; no salt or stretching is needed for 256 random bits."""
    return hashlib.sha256(token.encode("latin-1", "replace")).hexdigest()


def is_well_formed(token: str, prefix: str) -> bool:
    """True if prefix, length and checksum are right; catches typing errors."""
    if not token.startswith(prefix) or len(token) != len(prefix) + _BODY_LENGTH + _CHECKSUM_LENGTH:
        return False
    body, checksum = token[:-_CHECKSUM_LENGTH], token[-_CHECKSUM_LENGTH:]
    return token.isascii() and _checksum(body) == checksum


def _checksum(body: str) -> str:
    return _base62(zlib.crc32(body.encode("ascii")), _CHECKSUM_LENGTH)


def _base62(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, 62)
        digits.append(_ALPHABET[digit])
    return "".join(reversed(digits))
