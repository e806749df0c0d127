"""The key that signs the manifest of the published policy, derived from ``GATEWALL_SECRET_KEY``. Standard library only.

A data plane that gets this key alone cannot sign admin sessions or cached segments.
"""

import hashlib
import hmac

from gatewall.credentials import base64url

_PURPOSE = b"gatewall policy manifest 1"
_BYTES = 32


def manifest_key(secret: str) -> bytes:
    """Return the key that manifests are signed with."""
    return hmac.digest(secret.encode(), _PURPOSE, hashlib.sha256)


def as_text(key: bytes) -> str:
    """Return what ``GATEWALL_MANIFEST_KEY`` holds."""
    return base64url.encode(key)


def from_text(text: str) -> bytes | None:
    """Return the key of ``GATEWALL_MANIFEST_KEY``, or None for a text that is none."""
    key = base64url.decode(text)
    return key if key is not None and len(key) == _BYTES else None
