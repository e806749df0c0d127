"""Django's cache on Redis or Valkey, without pickle: values are bytes or text.

An attacker with write access to the cache can inject wrong data, which is checked, but no code. ``local_cache.py``
needs no server: a process without Redis does not load its client.
"""

import logging
import socket
import time
from collections.abc import Callable
from threading import local
from typing import Any, ClassVar, Self

from django.core.cache.backends.base import DEFAULT_TIMEOUT
from django.core.cache.backends.redis import RedisCache
from redis import ConnectionPool, InvalidResponse, RedisError
from redis.connection import AbstractConnection

logger = logging.getLogger(__name__)

_PARSE_ERRORS = (ValueError, TypeError, AttributeError, LookupError, RecursionError)
"""What redis-py's parsers raise on malformed responses."""


class PlainSerializer:
    """Serializes plain values for Redis (``OPTIONS.serializer``)."""

    def dumps(self, value: bytes | str) -> bytes:
        if isinstance(value, str):
            return b"s" + value.encode()
        if isinstance(value, bytes):
            return b"b" + value
        raise TypeError(f"only bytes and text are cached, not {type(value).__name__}")

    def loads(self, data: object) -> bytes | str | None:
        """Deserialize a value; None if it is malformed."""
        if not isinstance(data, bytes) or data[:1] not in {b"b", b"s"}:
            return None
        return data[1:] if data[:1] == b"b" else data[1:].decode("utf-8", "replace")


class _Deadline(local):
    """Deadline of this thread's cache command on the monotonic clock; None outside a command."""

    ends_at: float | None = None
    latest_at: float = 0.0


_deadline = _Deadline()


class _BoundedSocket:
    """Socket with a deadline per command, however slowly bytes come. Each byte transferred extends the deadline."""

    BYTES_PER_SECOND = 10_000_000

    def __init__(self, inner: socket.socket) -> None:
        self._inner = inner
        self._timeout = inner.gettimeout()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def settimeout(self, seconds: float | None) -> None:
        self._timeout = seconds
        self._inner.settimeout(seconds)

    def recv(self, size: int, *flags: int) -> bytes:
        self._apply_deadline()
        data = self._inner.recv(size, *flags)
        self._extend_deadline(len(data))
        return data

    def recv_into(self, buffer: Any, *arguments: int) -> int:
        self._apply_deadline()
        size = self._inner.recv_into(buffer, *arguments)
        self._extend_deadline(size)
        return size

    def sendall(self, data: Any) -> None:
        """Send in pieces: the timeout of ``socket.sendall`` would be for all bytes together."""
        rest = memoryview(data)
        while rest:
            self._apply_deadline()
            size = self._inner.send(rest)
            self._extend_deadline(size)
            rest = rest[size:]

    def _apply_deadline(self) -> None:
        timeout = self._timeout
        if _deadline.ends_at is not None and timeout != 0:  # 0 polls
            timeout = _deadline.ends_at - time.monotonic()
            if timeout <= 0:
                raise TimeoutError("the answer takes too long")
        self._inner.settimeout(timeout)

    def _extend_deadline(self, size: int) -> None:
        if _deadline.ends_at is not None:
            _deadline.ends_at = min(_deadline.ends_at + size / self.BYTES_PER_SECOND, _deadline.latest_at)


class _Bounded(AbstractConnection):
    """redis-py connection over a ``_BoundedSocket``; malformed responses raise RedisError."""

    def _connect(self) -> Any:
        return _BoundedSocket(super()._connect())  # type: ignore[safe-super, no-untyped-call]  # a mixin

    def on_connect_check_health(self, *arguments: Any, **options: Any) -> None:
        try:
            super().on_connect_check_health(*arguments, **options)
        except _PARSE_ERRORS as error:
            raise InvalidResponse("malformed greeting") from error

    def read_response(self, *arguments: Any, **options: Any) -> Any:
        try:
            return super().read_response(*arguments, **options)
        except _PARSE_ERRORS as error:
            self.disconnect()  # type: ignore[no-untyped-call]  # redis-py types most of its own
            raise InvalidResponse("malformed response") from error


class BoundedPool(ConnectionPool):
    """Connection pool with a deadline per command (``OPTIONS.pool_class``)."""

    @classmethod
    def from_url(cls, url: str, **options: Any) -> Self:
        """Build the pool for a URL; mixes the deadline into its connection class."""
        pool: Self = super().from_url(url, **options)
        kind = pool.connection_class
        pool.connection_class = type(f"Bounded{kind.__name__}", (_Bounded, kind), {})
        return pool


class SharedCache(RedisCache):
    """Django's Redis cache for recomputable values: while the server fails, every key is a miss.

    A command may take ``OPTIONS.socket_timeout``, plus a second per ten megabytes. After a failure or timeout the
    server is skipped for some seconds (circuit breaker), so that a policy waits for it only once. Methods other than
    ``get`` and ``set`` raise, as Django's do, and apply the timeout to each read.
    """

    SKIP_SECONDS = 5.0
    LONGEST_SECONDS = 3.0
    """Per command: enough for the largest cached segment."""
    _PATIENCE_SECONDS = 0.25
    _retry_at: ClassVar[dict[str, float]] = {}
    """Per server: Django creates a cache object per thread."""

    _options: dict[str, Any]  # set by Django, whose stubs leave it out

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._address = str(server)
        self._patience: float = self._options.get("socket_timeout", self._PATIENCE_SECONDS)

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        return self._run(lambda: super(SharedCache, self).get(key, default, version), default)

    def set(self, key: str, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> None:
        self._run(lambda: super(SharedCache, self).set(key, value, timeout, version), None)

    def _run(self, command: Callable[[], Any], default: Any) -> Any:
        if time.monotonic() < self._retry_at.get(self._address, 0.0):
            return default
        now = time.monotonic()
        _deadline.ends_at, _deadline.latest_at = now + self._patience, now + self.LONGEST_SECONDS
        try:
            return command()
        except (RedisError, OSError) as error:
            self._retry_at[self._address] = time.monotonic() + self.SKIP_SECONDS
            # Log no address: it may contain a password.
            logger.warning("the cache cannot be used (%s)", type(error).__name__)
            return default
        finally:
            _deadline.ends_at = None
