"""Django's cache in the memory of this process, without pickle: values are bytes, text or integers, as in Redis."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any

from django.core.cache.backends.base import DEFAULT_TIMEOUT
from django.core.cache.backends.locmem import LocMemCache


class LocalCache(LocMemCache):
    """Django's local-memory cache without pickling; its plain values are immutable."""

    # Attributes of LocMemCache that its stubs omit.
    _cache: OrderedDict[str, Any]
    _lock: Lock
    _has_expired: Callable[[str], bool]
    _set: Callable[[str, Any, Any], None]
    _delete: Callable[[str], bool]

    def add(self, key: str, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        key = self.make_and_validate_key(key, version=version)
        with self._lock:
            if not self._has_expired(key):
                return False
            self._set(key, _plain(value), timeout)
            return True

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        key = self.make_and_validate_key(key, version=version)
        with self._lock:
            if self._has_expired(key):
                self._delete(key)
                return default
            self._cache.move_to_end(key, last=False)
            return self._cache[key]

    def set(self, key: str, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> None:
        key = self.make_and_validate_key(key, version=version)
        with self._lock:
            self._set(key, _plain(value), timeout)

    def incr(self, key: str, delta: int = 1, version: int | None = None) -> int:
        key = self.make_and_validate_key(key, version=version)
        with self._lock:
            if self._has_expired(key):
                self._delete(key)
                raise ValueError(f"Key {key!r} not found")
            number: int = self._cache[key] + delta
            self._cache[key] = number
            self._cache.move_to_end(key, last=False)
            return number


def _plain(value: Hashable) -> Hashable:
    if not isinstance(value, (bytes, str, int)):
        raise TypeError(f"only bytes, text and whole numbers are cached, not {type(value).__name__}")
    return value
