"""Share compiled segments between hosts through the cache server.

Without a cache server nothing is kept: in the memory of one process, segments of the past would be of use to nobody.
The cache is not trusted: what comes out of it counts only with our signature, over the name as well. It only saves
work: where it knows nothing, or does not answer, the rows are read.
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
    """Return the bytes of this segment as this change left it, compiled since the last reload; None if not cached."""
    if not _is_shared():
        return None
    key = _key(version, name, change)
    signed = cache.get(key)
    if not isinstance(signed, bytes):
        return None
    signature, data = signed[:_SIGNATURE_BYTES], signed[_SIGNATURE_BYTES:]
    return data if hmac.compare_digest(signature, _signature(key, data)) else None


def keep(version: Version, name: str, change: str, data: bytes) -> None:
    """Offer the bytes to the other hosts; a very large segment is compiled by each of them."""
    if len(data) <= _MAX_BYTES and _is_shared():
        key = _key(version, name, change)
        cache.set(key, _signature(key, data) + data, _KEPT_SECONDS)


def _is_shared() -> bool:
    return not isinstance(caches[DEFAULT_CACHE_ALIAS], LocalCache)


def _key(version: Version, name: str, change: str) -> str:
    # The layout is part of the key, so that old and new workers never share bytes during an upgrade. The reload is
    # part of it, because a row that no service wrote has no change id: what was compiled before may be without it.
    return f"segment:{LAYOUT}:{version.epoch}:{version.reloads}:{name}:{change}"


def _signature(key: str, data: bytes) -> bytes:
    secret = hmac.digest(settings.SECRET_KEY.encode(), _PURPOSE, hashlib.sha256)
    return hmac.digest(secret, key.encode() + b"\0" + data, hashlib.sha256)
