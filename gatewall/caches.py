"""Django caches that never pickle: what is stored is bytes, text or a whole number.

Whoever can write to the cache can then give us wrong data, which is checked, but no code.
"""

import logging
import time
from collections.abc import Callable, Hashable
from typing import Any, ClassVar

from django.core.cache.backends.base import DEFAULT_TIMEOUT
from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache
from redis import RedisError

logger = logging.getLogger(__name__)

_PLAIN = (bytes, str, int)
_MAX_DIGITS = 20  # of the 64-bit numbers that Redis counts in, with a sign


class PlainSerializer:
    """Turns plain values into bytes for Redis and back (``OPTIONS.serializer``)."""

    def dumps(self, value: bytes | str | int) -> bytes | int:
        """Return what is stored. Whole numbers stay numbers, so that the server can count."""
        if type(value) is int:
            return value
        if isinstance(value, str):
            return b"s" + value.encode()
        if isinstance(value, bytes):
            return b"b" + value
        raise TypeError(f"only bytes, text and whole numbers are cached, not {type(value).__name__}")

    def loads(self, data: bytes) -> bytes | str | int | None:
        """Return the value, or None for bytes that are not ours."""
        if data[:1] == b"b":
            return data[1:]
        if data[:1] == b"s":
            return data[1:].decode("utf-8", "replace")
        return int(data) if len(data) <= _MAX_DIGITS and data.removeprefix(b"-").isdigit() else None


class SharedCache(RedisCache):
    """Django's cache on Redis or Valkey, for what can be found out again: a server that fails knows nothing.

    One that fails or is late (``OPTIONS.socket_timeout``) is left alone for some seconds, so that whoever waits for
    a policy waits for it once. The other methods raise, as Django's do.
    """

    LEFT_ALONE_SECONDS = 5.0
    _asked_again_at: ClassVar[dict[str, float]] = {}
    """By server. Django makes a cache for each thread; the server is the same."""

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._address = str(server)

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        return self._ask(lambda: super(SharedCache, self).get(key, default, version), default)

    def set(self, key: str, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> None:
        self._ask(lambda: super(SharedCache, self).set(key, value, timeout, version), None)

    def _ask(self, question: Callable[[], Any], otherwise: Any) -> Any:
        if time.monotonic() < self._asked_again_at.get(self._address, 0.0):
            return otherwise
        try:
            return question()
        except (RedisError, OSError) as error:
            self._asked_again_at[self._address] = time.monotonic() + self.LEFT_ALONE_SECONDS
            # The address may hold a password.
            logger.warning("the cache cannot be used (%s)", type(error).__name__)
            return otherwise


class LocalCache(LocMemCache):
    """Django's local cache with the values themselves inside: they cannot be changed in place."""

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
    if not isinstance(value, _PLAIN):
        raise TypeError(f"only bytes, text and whole numbers are cached, not {type(value).__name__}")
    return value
