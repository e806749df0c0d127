"""Share compiled segments between hosts through the cache server.

Without a cache server nothing is cached: a process's own memory would not be shared. The cache server is not trusted:
bytes are used only with our signature, which covers the key. On a miss or an outage the rows are read.
"""

import hashlib
import hmac

from django.conf import settings
from django.core.cache import DEFAULT_CACHE_ALIAS, cache, caches

from gatewall.database.local_cache import LocalCache
from gatewall.engine.snapshot import Version
from gatewall.snapshot.codec import LAYOUT

_PURPOSE = b"gatewall cached segment 1"
_KEPT_SECONDS = 3600
_MAX_BYTES = 16 * 1024 * 1024
_SIGNATURE_BYTES = 32


def fetch(version: Version, name: str, change: str) -> bytes | None:
    """Return the cached bytes of a segment as of this change and reload, or None."""
    if not _is_shared():
        return None
    key = _key(version, name, change)
    signed = cache.get(key)
    if not isinstance(signed, bytes):
        return None
    signature, data = signed[:_SIGNATURE_BYTES], signed[_SIGNATURE_BYTES:]
    return data if hmac.compare_digest(signature, _signature(key, data)) else None


def keep(version: Version, name: str, change: str, data: bytes) -> None:
    """Cache a segment's bytes for the other hosts, unless it is very large."""
    if len(data) <= _MAX_BYTES and _is_shared():
        key = _key(version, name, change)
        cache.set(key, _signature(key, data) + data, _KEPT_SECONDS)


def _is_shared() -> bool:
    return not isinstance(caches[DEFAULT_CACHE_ALIAS], LocalCache)


def _key(version: Version, name: str, change: str) -> str:
    # The layout is part of the key, so that old and new workers never share bytes during an upgrade. So is the reload:
    # rows written outside our services have no change id, and a reload must pick them up.
    return f"segment:{LAYOUT}:{version.epoch}:{version.reloads}:{name}:{change}"


def _signature(key: str, data: bytes) -> bytes:
    secret = hmac.digest(settings.SECRET_KEY.encode(), _PURPOSE, hashlib.sha256)
    return hmac.digest(secret, key.encode() + b"\0" + data, hashlib.sha256)
