"""Convert country ranges as text (Debian's tor-geoipdb) to a MaxMind DB. Pure.

A line is ``first,last,CC``: two addresses (IPv4 as numbers or dotted), inclusive, and a country code. Ranges whose
code is not two letters (``??``) are skipped. Of the comments (``#``), only those of IPFire with build date, vendor and
license are used. Ranges must not overlap.
"""

import re
import sys
from array import array
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from ipaddress import IPv4Address, summarize_address_range
from typing import IO, Any

from gatewall.engine.addresses import IPAddress, parse_address

KIND = "Gatewall-Country-Ranges"
MAX_NODES = 32_000_000
"""A node takes eight bytes of memory; Tor's files need some two million nodes."""
_MAX_LINE = 200
_LINE = re.compile(rb"([0-9A-Fa-f.:]{1,45}),([0-9A-Fa-f.:]{1,45}),(..)\s*", re.ASCII)
_HEADER = re.compile(rb"# *(Generated|Vendor|License): *([!-~][ -~]{0,80})\s*", re.ASCII)
_CODE = re.compile(rb"[A-Za-z]{2}", re.ASCII)
_MARKER, _SEPARATOR = b"\xab\xcd\xefMaxMind.com", bytes(16)
_STRING, _UINT16, _UINT32, _MAP, _UINT64, _ARRAY = 2, 5, 6, 7, 9, 11
_LEAF = 1 << 31
"""A child with this bit is a country, 0 is empty, others are node numbers."""


class RangesRefused(ValueError):
    """The text is not a list of ranges; the message names line and reason."""


def looks_like_ranges(head: bytes) -> bool:
    """True if the first line of the file's head that is not a comment is a range."""
    for line in head.splitlines():
        if line and not line.startswith(b"#"):
            return _LINE.fullmatch(line) is not None
    return False


class CountryRanges:
    """Binary tree of networks and their countries, for writing an MMDB."""

    def __init__(self) -> None:
        self._children = array("I", [0, 0])
        self._codes: dict[bytes, int] = {}
        self._header: dict[str, str] = {}
        self._ipv4 = self._walk(0, "0" * 96)  # IPv4 addresses are under ::/96

    def add(self, lines: Iterable[bytes]) -> None:
        """Add ranges from lines of text. Raises RangesRefused."""
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.startswith(b"#"):
                self._read_comment(line)
                continue
            found = _LINE.fullmatch(line)
            if found is None:
                raise RangesRefused(f"line {number}: expected first,last,CC, for example 16777216,16777471,AU")
            if _CODE.fullmatch(found[3]):
                try:
                    self._add(_address(found[1]), _address(found[2]), found[3].upper())
                except ValueError as error:
                    raise RangesRefused(f"line {number}: {error}") from None

    def write(self, file: IO[bytes], *, at: datetime) -> None:
        """Write the MMDB, with this build time if the text has none. Raises OSError."""
        count = len(self._children) // 2
        data, offsets = bytearray(), []
        for code in self._codes:
            offsets.append(len(data))
            data += _encode({"country": {"iso_code": code.decode()}})
        places = array("I", self._children)
        for place, child in enumerate(places):
            if child == 0:
                places[place] = count
            elif child & _LEAF:
                places[place] = count + len(_SEPARATOR) + offsets[child ^ _LEAF]
        if sys.byteorder == "little":
            places.byteswap()  # the format is big-endian
        places.tofile(file)
        file.write(_SEPARATOR + bytes(data) + _MARKER + _encode(self._metadata(count, at)))

    def _read_comment(self, line: bytes) -> None:
        found = _HEADER.fullmatch(line)
        if found is not None:
            self._header.setdefault(found[1].decode(), found[2].decode().strip())

    def _built_at(self, otherwise: datetime) -> datetime:
        try:
            moment = parsedate_to_datetime(self._header.get("Generated", ""))
        except ValueError:
            return otherwise
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

    def _metadata(self, count: int, at: datetime) -> dict[str, Any]:
        origin = ", ".join(self._header[name] for name in ("Vendor", "License") if name in self._header)
        return {
            "binary_format_major_version": (_UINT16, 2),
            "binary_format_minor_version": (_UINT16, 0),
            "build_epoch": (_UINT64, int(self._built_at(at).timestamp())),
            "database_type": KIND,
            "description": {"en": origin or "converted from text ranges"},
            "ip_version": (_UINT16, 6),
            "languages": ["en"],
            "node_count": (_UINT32, count),
            "record_size": (_UINT16, 32),
        }

    def _add(self, first: IPAddress, last: IPAddress, code: bytes) -> None:
        leaf = _LEAF | self._codes.setdefault(code, len(self._codes))
        for network in _networks(first, last):
            width = network.max_prefixlen
            bits = f"{int(network.network_address):0{width}b}"[: network.prefixlen]
            if not bits:
                raise ValueError("a range of all addresses")
            start = self._ipv4 if width == 32 else 0
            place = 2 * self._walk(start, bits[:-1]) + int(bits[-1])
            if self._children[place]:
                raise ValueError("overlaps a range before it")
            self._children[place] = leaf

    def _walk(self, node: int, bits: str) -> int:
        """Return the node at the end of the bits, created if missing. Raises ValueError."""
        children = self._children
        for bit in bits:
            place = 2 * node + (bit == "1")
            node = children[place]
            if node & _LEAF:
                raise ValueError("overlaps a range before it")
            if not node:
                node = children[place] = len(children) // 2
                if node >= MAX_NODES:
                    raise ValueError("there are too many ranges")
                children.extend((0, 0))
        return node


def bounded_lines(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of a file. Raises RangesRefused if one is too long."""
    number = 0
    while line := file.readline(_MAX_LINE + 1):
        number += 1
        if len(line) > _MAX_LINE:
            raise RangesRefused(f"line {number}: too long")
        yield line


def _address(text: bytes) -> IPAddress:
    if text.isdigit():
        return IPv4Address(int(text))
    address = parse_address(text.decode())
    if address is None:
        raise ValueError(f"{text.decode()!r} is not an IP address")
    return address


def _networks(first: IPAddress, last: IPAddress) -> Iterator[Any]:
    if first.version != last.version:
        raise ValueError("an IPv4 and an IPv6 address")
    return summarize_address_range(first, last)


def _encode(value: Any) -> bytes:
    """Encode a value in the MMDB data format; sizes must be below 285."""
    if isinstance(value, str):
        return _control(_STRING, len(value)) + value.encode()
    if isinstance(value, tuple):
        kind, number = value  # readers check the width of each number
        raw: bytes = number.to_bytes(8, "big").lstrip(b"\0")
        return _control(kind, len(raw)) + raw
    if isinstance(value, list):
        return _control(_ARRAY, len(value)) + b"".join(map(_encode, value))
    pairs = [_encode(key) + _encode(item) for key, item in value.items()]
    return _control(_MAP, len(pairs)) + b"".join(pairs)


def _control(kind: int, size: int) -> bytes:
    low, more = (size, b"") if size < 29 else (29, bytes([size - 29]))
    return (bytes([kind << 5 | low]) if kind < 8 else bytes([low, kind - 7])) + more
