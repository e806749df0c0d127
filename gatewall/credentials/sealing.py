"""Seal secrets for database rows: AES-256-GCM, encrypted with the first data key, decrypted with any. No I/O.

A sealed text is ``v1.<kid>.<base64url>``: nonce, ciphertext and tag. Version, kid and context are authenticated, so
an altered text, or one from another row, cannot be opened.
"""

import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from gatewall.credentials import base64url
from gatewall.credentials.keyring import KeyRing

MAX_PLAIN_BYTES = 4096
_VERSION = "v1"
_PURPOSE = b"gatewall sealing v1"
_NONCE_BYTES = 12  # NIST SP 800-38D section 8.2: random nonces are safe for 2^32 texts per key
_TAG_BYTES = 16
_MAX_SEALED = 6144


class SealBroken(ValueError):
    """The text is altered, of another context, or sealed with a key that is not in the ring."""


class Sealer:
    """Seals with the first key of a ring, opens with any."""

    def __init__(self, keys: KeyRing) -> None:
        self._first = keys.signing.kid
        self._ciphers = {key.kid: AESGCM(_derived(key.secret)) for key in keys.keys}

    def seal(self, plain: bytes, *, context: str) -> str:
        """Encrypt bytes; ``context`` binds them to their row, like ``totp:42``. Raises ValueError if too long."""
        if len(plain) > MAX_PLAIN_BYTES:
            raise ValueError(f"at most {MAX_PLAIN_BYTES} bytes can be sealed")
        nonce = secrets.token_bytes(_NONCE_BYTES)
        body = self._ciphers[self._first].encrypt(nonce, plain, _bound(self._first, context))
        return f"{_VERSION}.{self._first}.{base64url.encode(nonce + body)}"

    def open(self, sealed: str, *, context: str) -> bytes:
        """Decrypt a text that was sealed in this context. Raises SealBroken."""
        kid, body = _parts(sealed)
        cipher = self._ciphers.get(kid)
        if cipher is None:
            raise SealBroken("the text is sealed under a key that is not in the ring")
        try:
            return cipher.decrypt(body[:_NONCE_BYTES], body[_NONCE_BYTES:], _bound(kid, context))
        except InvalidTag:
            raise SealBroken("the text is altered, or was sealed for another place") from None

    def needs_resealing(self, sealed: str) -> bool:
        """True for a text not sealed with the first key. Raises SealBroken for malformed text."""
        return _parts(sealed)[0] != self._first


def kid_of(sealed: str) -> str:
    """Return the kid that a sealed text names. Raises SealBroken for malformed text."""
    return _parts(sealed)[0]


def _parts(sealed: str) -> tuple[str, bytes]:
    """Split a sealed text into kid and body; a kid may contain dots."""
    head, _, encoded = sealed.rpartition(".") if len(sealed) <= _MAX_SEALED else ("", "", "")
    version, _, kid = head.partition(".")
    body = base64url.decode(encoded)
    if version != _VERSION or not kid or body is None or len(body) < _NONCE_BYTES + _TAG_BYTES:
        raise SealBroken("malformed sealed text")
    return kid, body


def _derived(secret: bytes) -> bytes:
    """Derive the encryption key (HKDF, RFC 5869)."""
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=_PURPOSE).derive(secret)


def _bound(kid: str, context: str) -> bytes:
    """Return the authenticated data; a kid has no line feed, so it is unambiguous."""
    return f"{_VERSION}.{kid}\n{context}".encode()
