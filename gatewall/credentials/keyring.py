"""Key ring that signs session tokens or seals secrets: the first key signs, all verify. No I/O."""

import base64
import binascii
import string
from dataclasses import dataclass

from gatewall.credentials import base64url

MIN_KEY_BYTES = 32  # RFC 7518 section 3.2: as long as the hash output
_KID = frozenset(string.ascii_letters + string.digits + "-_.")


class KeyRingRefused(ValueError):
    """The key ring text is invalid; the message contains no key."""


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A key and its ``kid`` in tokens and sealed texts."""

    kid: str
    secret: bytes

    def __repr__(self) -> str:
        """Omit the secret."""
        return f"SigningKey({self.kid!r})"


@dataclass(frozen=True, slots=True)
class KeyRing:
    """Keys of one purpose, the signing key first."""

    keys: tuple[SigningKey, ...]

    @classmethod
    def parse(cls, text: str) -> "KeyRing":
        """Parse ``kid:base64url[,...]``. Raises KeyRingRefused if empty, or for duplicate names, short or weak keys."""
        keys = tuple(_parse_key(part.strip()) for part in text.split(",") if part.strip())
        if not keys:
            raise KeyRingRefused("there is no key; write kid:base64url")
        if len({key.kid for key in keys}) != len(keys):
            raise KeyRingRefused("two keys have the same kid")
        return cls(keys)

    @property
    def signing(self) -> SigningKey:
        """The first key, which signs sessions and seals secrets."""
        return self.keys[0]

    def text(self) -> str:
        """Return the text that ``parse`` reads, keys included."""
        return ",".join(f"{key.kid}:{base64url.encode(key.secret)}" for key in self.keys)

    def find(self, kid: str) -> SigningKey | None:
        for key in self.keys:
            if key.kid == kid:
                return key
        return None


def _parse_key(part: str) -> SigningKey:
    kid, colon, encoded = part.partition(":")
    if not colon or not 0 < len(kid) <= 64 or not _KID.issuperset(kid):
        raise KeyRingRefused("each key is written kid:base64url, the kid of letters, digits, '-', '_' and '.'")
    try:
        secret = base64.b64decode(encoded + "=" * (-len(encoded) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise KeyRingRefused(f"the key {kid!r} is not base64url") from None
    if len(secret) < MIN_KEY_BYTES:
        raise KeyRingRefused(f"the key {kid!r} has {len(secret)} bytes; at least {MIN_KEY_BYTES} are needed")
    if len(set(secret)) < MIN_KEY_BYTES // 4:
        raise KeyRingRefused(f"the key {kid!r} is not random")
    return SigningKey(kid, secret)
