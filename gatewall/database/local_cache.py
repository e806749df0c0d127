"""Django's cache in the memory of this process, without pickle: values are bytes or text, as in Redis."""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Any

from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache
from django.core.cache.backends.locmem import LocMemCache


class LocalCache(LocMemCache):
    """Django's local-memory cache without pickling; its plain values are immutable."""

    # Attributes of LocMemCache that its stubs omit.
    _cache: OrderedDict[str, Any]
    _lock: Lock
    _has_expired: Callable[[str], bool]
    _set: Callable[[str, Any, Any], None]
    _delete: Callable[[str], bool]

    # Not supported: nothing uses them, and those of LocMemCache pickle.
    add = BaseCache.add
    incr = BaseCache.incr

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        key = self.make_and_validate_key(key, version=version)
        with self._lock:
            if self._has_expired(key):
                self._delete(key)
                return default
            self._cache.move_to_end(key, last=False)
            return self._cache[key]

    def set(self, key: str, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> None:
        if not isinstance(value, (bytes, str)):
            raise TypeError(f"only bytes and text are cached, not {type(value).__name__}")
        key = self.make_and_validate_key(key, version=version)
        with self._lock:
            self._set(key, value, timeout)
