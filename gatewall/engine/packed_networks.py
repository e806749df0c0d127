"""Longest-prefix match on sorted columns in one memory-mappable buffer shared by all workers. No I/O.

A million entries are 25 MB, never copied or parsed: loading maps the file, a look-up bisects. Networks are nested or
disjoint. So all networks that contain an address are found from the last one that starts at or before it, by following
each entry's index of the next larger network around it.
"""

import struct
import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network, IPv6Network
from itertools import accumulate, count, pairwise
from operator import lt

from gatewall.engine.addresses import IPAddress, IPNetwork
from gatewall.engine.lists import BlockedNetwork

_HEADER = struct.Struct("=8sQQ")
_MAGIC = b"networks" if sys.byteorder == "little" else b"skrowten"
_NEVER = float("inf")
_NOTHING = -1
_PIECE = 16_384
_BITS = {4: 32, 6: 128}
_HALF = (1 << 64) - 1
_HALVES = {4: ("I",), 6: ("Q", "Q")}
"""Array type codes of the parts of a start address."""
_WIDTHS = {4: 4 + 1 + 4 + 8 + 8 + 1, 6: 16 + 1 + 4 + 8 + 8 + 1}
"""Bytes per entry: start, prefix length, index of the enclosing network, id, expiry, by hand."""


class PackedRefused(ValueError):
    """The bytes are not a table packed on a machine with this byte order."""


def pack(entries: Iterable[BlockedNetwork]) -> bytes:
    """Serialize entries to a table."""
    found: dict[int, _Rows] = {4: _Rows(), 6: _Rows()}
    for entry in entries:
        found[entry.network.version].add(entry)
    parts = [_HEADER.pack(_MAGIC, len(found[4].ids), len(found[6].ids))]
    parts += [column.tobytes() for version, rows in found.items() for column in rows.columns(version)]
    return b"".join(parts)


class _Rows:
    """Entries of one IP version, in input order."""

    def __init__(self) -> None:
        self.keys: list[int] = []
        self.ids, self.ends, self.by_hand = array("q"), array("d"), array("B")

    def add(self, entry: BlockedNetwork) -> None:
        self.keys.append(int(entry.network.network_address) << 8 | entry.network.prefixlen)
        self.ids.append(entry.id)
        self.ends.append(_NEVER if entry.expires_at is None else entry.expires_at)
        self.by_hand.append(entry.by_hand)

    def columns(self, version: int) -> "list[array[int] | array[float]]":
        """Return the columns, sorted by start address, larger networks first."""
        order = sorted(range(len(self.keys)), key=self.keys.__getitem__)
        keys = [self.keys[index] for index in order]
        starts = [key >> 8 for key in keys]
        halves = (starts,) if version == 4 else ([each >> 64 for each in starts], [each & _HALF for each in starts])
        return [
            *(array(code, half) for code, half in zip(_HALVES[version], halves, strict=True)),
            array("B", [key & 0xFF for key in keys]),
            array("i", _around(keys, _BITS[version])),
            array("q", [self.ids[index] for index in order]),
            array("d", [self.ends[index] for index in order]),
            array("B", [self.by_hand[index] for index in order]),
        ]


def _around(keys: list[int], bits: int) -> Iterator[int]:
    """Yield for each network the index of the smallest one that encloses or equals it, or -1."""
    open_: list[tuple[int, int]] = []
    for index, key in enumerate(keys):
        start, length = key >> 8, key & 0xFF
        while open_ and open_[-1][0] < start:
            open_.pop()
        yield open_[-1][1] if open_ else _NOTHING
        open_.append((start | ((1 << (bits - length)) - 1), index))


class PackedNetworks:
    """Read-only table of the blocklist entries of one source; keeps its buffer alive."""

    def __init__(self, buffer: bytes | memoryview) -> None:
        """Open a table of ``pack``. Raises PackedRefused.

        Checks what could break a look-up or make it loop; the caller has checked the digest.
        """
        view = memoryview(buffer)
        magic, four, six = _HEADER.unpack_from(view) if len(view) >= _HEADER.size else (b"", 0, 0)
        if magic != _MAGIC:
            raise PackedRefused("not a table of networks")
        border = _HEADER.size + four * _WIDTHS[4]
        if len(view) != border + six * _WIDTHS[6]:
            raise PackedRefused("not of its size")
        self._four = _Four(view[_HEADER.size : border], four, 4)
        self._six = _Six(view[border:], six, 6)

    def __len__(self) -> int:
        return len(self._four.ids) + len(self._six.ids)

    def __iter__(self) -> Iterator[BlockedNetwork]:
        """Yield the entries sorted by address."""
        for family in (self._four, self._six):
            yield from map(family.entry, range(len(family.ids)))

    def containing(self, address: IPAddress) -> Iterator[BlockedNetwork]:
        family = self._four if address.version == 4 else self._six
        number = int(address)
        index = family.last(number)
        while index >= 0:
            host_bits = family.bits - family.lengths[index]
            if family.start(index) >> host_bits == number >> host_bits:
                yield family.entry(index)
            index = family.around[index]

    def contains(self, version: int, number: int) -> bool:
        family = self._four if version == 4 else self._six
        index = family.last(number)
        while index >= 0:
            host_bits = family.bits - family.lengths[index]
            if family.start(index) >> host_bits == number >> host_bits:
                return True
            index = family.around[index]
        return False


class _Four:
    """Columns of the IPv4 entries."""

    def __init__(self, view: memoryview, number: int, version: int) -> None:
        self.bits = _BITS[version]
        halves = _HALVES[version]
        widths = [array(code).itemsize * number for code in halves]
        cuts = list(accumulate([*widths, number, 4 * number, 8 * number, 8 * number, number], initial=0))
        columns = [view[begin:end] for begin, end in pairwise(cuts)]
        self.starts = [column.cast(code) for column, code in zip(columns, halves, strict=False)]  # type: ignore[call-overload]  # no literal
        lengths, around, ids, ends, by_hand = columns[-5:]
        self.lengths, self.around, self.by_hand = lengths, around.cast("i"), by_hand
        self.ids, self.ends = ids.cast("q"), ends.cast("d")
        if not _is_sound(self.lengths, self.around, self.bits):
            raise PackedRefused("not of networks")

    def last(self, number: int) -> int:
        """Return the index of the last network that starts at or before this address, or -1."""
        return bisect_right(self.starts[0], number) - 1

    def start(self, index: int) -> int:
        """Return the first address of a network."""
        start: int = self.starts[0][index]
        return start

    def entry(self, index: int) -> BlockedNetwork:
        length, ends = self.lengths[index], self.ends[index]
        host_bits = self.bits - length
        place = (self.start(index) >> host_bits << host_bits, length)
        network: IPNetwork = IPv4Network(place) if self.bits == _BITS[4] else IPv6Network(place)
        return BlockedNetwork(self.ids[index], network, bool(self.by_hand[index]), None if ends == _NEVER else ends)


class _Six(_Four):
    """Columns of the IPv6 entries: their start addresses are two columns."""

    def last(self, number: int) -> int:
        upper, lower = self.starts
        high, low = number >> 64, number & _HALF
        end = bisect_right(upper, high)
        return bisect_right(lower, low, bisect_left(upper, high, 0, end), end) - 1

    def start(self, index: int) -> int:
        upper, lower = self.starts
        return int(upper[index] << 64 | lower[index])


def _is_sound(lengths: memoryview, around: memoryview, bits: int) -> bool:
    """True if prefix lengths are in range and enclosing indexes decrease. In pieces, to let other threads run."""
    for begin in range(0, len(lengths), _PIECE):
        piece = slice(begin, begin + _PIECE)
        if max(lengths[piece]) > bits or not all(map(lt, around[piece], count(begin))):
            return False
    return True
