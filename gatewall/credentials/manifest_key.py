"""Manifest signing key, derived from ``GATEWALL_SECRET_KEY``. Standard library only.

A data plane with only this key cannot sign admin sessions or cached segments.
"""

import hashlib
import hmac

from gatewall.credentials import base64url

_PURPOSE = b"gatewall policy manifest 1"
_BYTES = 32


def manifest_key(secret: str) -> bytes:
    """Derive the key that signs manifests."""
    return hmac.digest(secret.encode(), _PURPOSE, hashlib.sha256)


def as_text(key: bytes) -> str:
    """Encode a key for ``GATEWALL_MANIFEST_KEY``."""
    return base64url.encode(key)


def from_text(text: str) -> bytes | None:
    """Decode ``GATEWALL_MANIFEST_KEY``; None if it is no key."""
    key = base64url.decode(text)
    return key if key is not None and len(key) == _BYTES else None
