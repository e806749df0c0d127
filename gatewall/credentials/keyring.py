"""The keys that sign session tokens or seal secrets: the first signs, all of them verify. No I/O."""

import base64
import binascii
import string
from dataclasses import dataclass

from gatewall.credentials import base64url

MIN_KEY_BYTES = 32  # RFC 7518 section 3.2: as long as the hash output
_KID = frozenset(string.ascii_letters + string.digits + "-_.")


class KeyRingRefused(ValueError):
    """The key ring text is not usable; the message never holds a key."""


@dataclass(frozen=True, slots=True)
class SigningKey:
    """One key and the name it goes by: the ``kid`` of a token or of a sealed text."""

    kid: str
    secret: bytes

    def __repr__(self) -> str:
        """Show the name alone."""
        return f"SigningKey({self.kid!r})"


@dataclass(frozen=True, slots=True)
class KeyRing:
    """The keys in force, the signing one first."""

    keys: tuple[SigningKey, ...]

    @classmethod
    def parse(cls, text: str) -> "KeyRing":
        """Return the key ring that ``kid:base64url[,...]`` describes.

        Raises KeyRingRefused when there is no key, a name twice, or a key that is short or trivial.
        """
        keys = tuple(_parse_key(part.strip()) for part in text.split(",") if part.strip())
        if not keys:
            raise KeyRingRefused("there is no key; write kid:base64url")
        if len({key.kid for key in keys}) != len(keys):
            raise KeyRingRefused("two keys have the same kid")
        return cls(keys)

    @property
    def signing(self) -> SigningKey:
        """Return the first key: the one that signs sessions, and seals secrets."""
        return self.keys[0]

    def text(self) -> str:
        """Return the text, keys and all, that ``parse`` reads."""
        return ",".join(f"{key.kid}:{base64url.encode(key.secret)}" for key in self.keys)

    def find(self, kid: str) -> SigningKey | None:
        """Return the key of this name, or None."""
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
