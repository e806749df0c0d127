"""Manifest signing key, derived from ``GATEWALL_SECRET_KEY``. Standard library only.

A data plane with only this key cannot sign admin sessions or cached segments.
"""

import hashlib
import hmac

from gatewall.credentials import base64url

_PURPOSE = b"gatewall policy manifest 1"


def manifest_key(secret: str) -> bytes:
    """Derive the key that signs manifests."""
    return hmac.digest(secret.encode(), _PURPOSE, hashlib.sha256)


def from_text(text: str) -> bytes | None:
    """Decode the base64url of ``GATEWALL_MANIFEST_KEY``; None if it is not a key."""
    key = base64url.decode(text)
    return key if key is not None and len(key) == hashlib.sha256().digest_size else None
