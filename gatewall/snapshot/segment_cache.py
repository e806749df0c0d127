"""Compiled segments in the shared cache, so that one host compiles what all of them publish.

The cache is not trusted: what comes out of it counts only with our signature, over the name as well. It only saves
work: where it knows nothing, or does not answer, the rows are read.
"""

import hashlib
import hmac

from django.conf import settings
from django.core.cache import cache

from gatewall.snapshot.codec import LAYOUT

_PURPOSE = b"gatewall cached segment 1"
_KEPT_SECONDS = 3600
_MAX_BYTES = 16 * 1024 * 1024
_SIGNATURE_BYTES = 32


def fetch(epoch: str, name: str, change: str) -> bytes | None:
    """Return the bytes of this segment as this change left it, or None if they are not to be had."""
    key = _key(epoch, name, change)
    signed = cache.get(key)
    if not isinstance(signed, bytes):
        return None
    signature, data = signed[:_SIGNATURE_BYTES], signed[_SIGNATURE_BYTES:]
    return data if hmac.compare_digest(signature, _signature(key, data)) else None


def keep(epoch: str, name: str, change: str, data: bytes) -> None:
    """Offer the bytes to the other hosts; a very large segment is compiled by each of them."""
    if len(data) <= _MAX_BYTES:
        key = _key(epoch, name, change)
        cache.set(key, _signature(key, data) + data, _KEPT_SECONDS)


def _key(epoch: str, name: str, change: str) -> str:
    # The layout is part of the key, so that old and new workers never share bytes during an upgrade.
    return f"segment:{LAYOUT}:{epoch}:{name}:{change}"


def _signature(key: str, data: bytes) -> bytes:
    secret = hmac.digest(settings.SECRET_KEY.encode(), _PURPOSE, hashlib.sha256)
    return hmac.digest(secret, key.encode() + b"\0" + data, hashlib.sha256)
