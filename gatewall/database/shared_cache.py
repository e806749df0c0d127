"""Django's cache on Redis or Valkey, without pickle: values are bytes, text or integers.

Whoever can write to the cache can then give us wrong data, which is checked, but no code. ``local_cache.py`` is the one
without a server: a process that uses no Redis does not load its client.
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

_NONSENSE = (ValueError, TypeError, AttributeError, LookupError, RecursionError)
"""What the parsers of redis-py raise over bytes that no server should send."""
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

    def loads(self, data: object) -> bytes | str | int | None:
        """Return the value, or None for what is not ours."""
        if not isinstance(data, bytes):
            return None
        if data[:1] == b"b":
            return data[1:]
        if data[:1] == b"s":
            return data[1:].decode("utf-8", "replace")
        return int(data) if len(data) <= _MAX_DIGITS and data.removeprefix(b"-").isdigit() else None


class _Question(local):
    """What this thread waits for: until when, on the clock that nobody sets; None while nobody set a bound."""

    ends_at: float | None = None
    latest_at: float = 0.0


_question = _Question()


class _BoundedSocket:
    """A socket that lets a question wait no longer than until its end, however little comes at a time.

    Each byte that moves puts the end off by what it may cost, so that a long list has longer than a number.
    """

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
        self._wait_no_longer()
        data = self._inner.recv(size, *flags)
        self._moved(len(data))
        return data

    def recv_into(self, buffer: Any, *arguments: int) -> int:
        self._wait_no_longer()
        size = self._inner.recv_into(buffer, *arguments)
        self._moved(size)
        return size

    def sendall(self, data: Any) -> None:
        """Send it piece by piece: the time of ``socket.sendall`` is for all of it, however much that is."""
        rest = memoryview(data)
        while rest:
            self._wait_no_longer()
            size = self._inner.send(rest)
            self._moved(size)
            rest = rest[size:]

    def _wait_no_longer(self) -> None:
        timeout = self._timeout
        if _question.ends_at is not None and timeout != 0:  # 0 is a look at what is there
            timeout = _question.ends_at - time.monotonic()
            if timeout <= 0:
                raise TimeoutError("the answer takes too long")
        self._inner.settimeout(timeout)

    def _moved(self, size: int) -> None:
        if _question.ends_at is not None:
            _question.ends_at = min(_question.ends_at + size / self.BYTES_PER_SECOND, _question.latest_at)


class _Bounded(AbstractConnection):
    """A connection of redis-py over such a socket, on which nonsense is an error as any other."""

    def _connect(self) -> Any:
        return _BoundedSocket(super()._connect())  # type: ignore[safe-super, no-untyped-call]  # of the kind it is mixed into

    def on_connect_check_health(self, *arguments: Any, **options: Any) -> None:
        try:
            super().on_connect_check_health(*arguments, **options)
        except _NONSENSE as error:
            raise InvalidResponse("the greeting makes no sense") from error

    def read_response(self, *arguments: Any, **options: Any) -> Any:
        try:
            return super().read_response(*arguments, **options)
        except _NONSENSE as error:
            self.disconnect()  # type: ignore[no-untyped-call]  # redis-py types most of its own
            raise InvalidResponse("the answer makes no sense") from error


class BoundedPool(ConnectionPool):
    """The connections to one server (``OPTIONS.pool_class``), each of which ends a question in time."""

    @classmethod
    def from_url(cls, url: str, **options: Any) -> Self:
        """Return the pool for this address, whatever kind of connection that asks for."""
        pool: Self = super().from_url(url, **options)
        kind = pool.connection_class
        pool.connection_class = type(f"Bounded{kind.__name__}", (_Bounded, kind), {})
        return pool


class SharedCache(RedisCache):
    """Django's cache on Redis or Valkey, for what can be found out again: a server that fails knows nothing.

    One that fails or is late (``OPTIONS.socket_timeout`` for each whole question, and a second more for each ten
    megabytes that move) is left alone for some seconds, so that whoever waits for a policy waits for it once. The
    other methods raise, as Django's do, and wait that long for each byte.
    """

    LEFT_ALONE_SECONDS = 5.0
    LONGEST_SECONDS = 3.0
    """Of one question: the largest segment that is kept has less at that rate."""
    _PATIENCE_SECONDS = 0.25
    _asked_again_at: ClassVar[dict[str, float]] = {}
    """By server. Django makes a cache for each thread; the server is the same."""

    _options: dict[str, Any]  # set by Django, whose stubs leave it out

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._address = str(server)
        self._patience: float = self._options.get("socket_timeout", self._PATIENCE_SECONDS)

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        return self._ask(lambda: super(SharedCache, self).get(key, default, version), default)

    def set(self, key: str, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> None:
        self._ask(lambda: super(SharedCache, self).set(key, value, timeout, version), None)

    def _ask(self, question: Callable[[], Any], otherwise: Any) -> Any:
        if time.monotonic() < self._asked_again_at.get(self._address, 0.0):
            return otherwise
        now = time.monotonic()
        _question.ends_at, _question.latest_at = now + self._patience, now + self.LONGEST_SECONDS
        try:
            return question()
        except (RedisError, OSError) as error:
            self._asked_again_at[self._address] = time.monotonic() + self.LEFT_ALONE_SECONDS
            # The address may hold a password.
            logger.warning("the cache cannot be used (%s)", type(error).__name__)
            return otherwise
        finally:
            _question.ends_at = None
