"""Count requests per subject and minute, shared by all processes of a host. Pure.

Every process maps one file of fixed size. A subject hashes to a bucket of a few slots, with eviction of the longest
idle one. Updates are not locked: two simultaneous requests may count once, but a lock would make all requests
wait for each other.
"""

import hashlib
import math
import mmap
import os
import struct
from pathlib import Path

from gatewall.engine.addresses import IPAddress

_SLOT = struct.Struct("<QIII")  # subject, minute, count in it, count in the minute before
_SLOTS_PER_BUCKET = 4
_BUCKETS = 1 << 14
_SIZE = _SLOT.size * _SLOTS_PER_BUCKET * _BUCKETS
_WINDOW = 60
_MAX_COUNT = 0xFFFF_FFFF


class RequestRateTable:
    """Sliding window of one minute for each subject (any bytes)."""

    def __init__(self, path: Path) -> None:
        """Map the table in this file, created if missing (mode 0600). Raises OSError."""
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if os.fstat(descriptor).st_size < _SIZE:
                os.ftruncate(descriptor, _SIZE)
            self._table = mmap.mmap(descriptor, _SIZE)
        finally:
            os.close(descriptor)

    def count(self, subject: bytes, limit_per_minute: int, at: float) -> int:
        """Count a request; return 0 within the limit, else the seconds until the limit is met again."""
        key = _key(subject)
        minute, second = divmod(at, _WINDOW)
        offset, current, previous = _find(self._table, key, int(minute))
        current = min(current + 1, _MAX_COUNT)
        _SLOT.pack_into(self._table, offset, key, int(minute), current, previous)
        return _seconds_over(limit_per_minute, current, previous, second)

    def look(self, subject: bytes, limit_per_minute: int, at: float) -> int:
        """Return the result of ``count`` for the last request of this subject, without counting another."""
        minute, second = divmod(at, _WINDOW)
        _, current, previous = _find(self._table, _key(subject), int(minute))
        return _seconds_over(limit_per_minute, max(current, 1), previous, second)


class SharedRequestRate(RequestRateTable):
    """The engine's rate port: counts requests per client (IPv6: per /64), and separately per client and access rule."""

    def seconds_over(self, client: IPAddress, limit_per_minute: int, at: float, rule_id: int | None = None) -> int:
        return self.count(network_of(client, rule_id), limit_per_minute, at)


class RequestRateView:
    """Read-only view of the table of this process: the engine's rate port for a request that was counted already."""

    def __init__(self, table: RequestRateTable) -> None:
        self._table = table

    def seconds_over(self, client: IPAddress, limit_per_minute: int, at: float, rule_id: int | None = None) -> int:
        return self._table.look(network_of(client, rule_id), limit_per_minute, at)


def network_of(client: IPAddress, rule_id: int | None = None) -> bytes:
    """Return the subject of a client, under an access rule or none: its IPv4 address, or its IPv6 /64."""
    number = int(client) if client.version == 4 else int(client) >> 64
    subject = number.to_bytes(8, "big") + bytes([client.version])
    return subject if rule_id is None else subject + rule_id.to_bytes(8, "big")


class ReadOnlyRequestRate:
    """Read-only view of the table, for dry runs."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def seconds_over(self, client: IPAddress, limit_per_minute: int, at: float, rule_id: int | None = None) -> int:
        """Return the result for the client's next request if it came now; count nothing."""
        minute, second = divmod(at, _WINDOW)
        table = self._path.read_bytes() if self._path.exists() else b""
        _, current, previous = _find(table.ljust(_SIZE, b"\0"), _key(network_of(client, rule_id)), int(minute))
        return _seconds_over(limit_per_minute, min(current + 1, _MAX_COUNT), previous, second)


def _find(table: mmap.mmap | bytes, key: int, minute: int) -> tuple[int, int, int]:
    """Return the offset of the subject's slot, and its counts in this minute and the one before."""
    start = key % _BUCKETS * _SLOTS_PER_BUCKET * _SLOT.size
    idle_longest, idle_minute = start, minute + 1
    for offset in range(start, start + _SLOTS_PER_BUCKET * _SLOT.size, _SLOT.size):
        slot_key, slot_minute, current, previous = _SLOT.unpack_from(table, offset)
        if slot_key == key:
            if slot_minute == minute:
                return offset, current, previous
            return offset, 0, current if slot_minute == minute - 1 else 0
        if slot_minute < idle_minute:
            idle_longest, idle_minute = offset, slot_minute
    return idle_longest, 0, 0


def _key(subject: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(subject, digest_size=8).digest(), "little") or 1


def _seconds_over(limit: int, current: int, previous: int, second: float) -> int:
    # The previous minute counts in proportion to its share of the sliding window.
    if current + previous * (1 - second / _WINDOW) <= limit:
        return 0
    return _seconds_until_met(limit, current, previous, second)


def _seconds_until_met(limit: int, current: int, previous: int, second: float) -> int:
    """Return the whole seconds, rounded up, until the window has room for one more request."""
    room = limit - 1
    if current <= room:
        return max(1, math.ceil(_WINDOW * (1 - (room - current) / previous) - second))
    return max(1, math.ceil(_WINDOW - second + _WINDOW * (1 - room / current)))
