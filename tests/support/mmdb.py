"""Write small MaxMind DB files (format 2.0, 24-bit records) for tests.

``write_mmdb(path, {"203.0.113.0/24": {"country": {"iso_code": "NZ"}}})``
"""

import time
from collections.abc import Mapping
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any

_METADATA_MARKER = b"\xab\xcd\xefMaxMind.com"
_SEPARATOR = bytes(16)
_STRING, _UINT16, _UINT32, _MAP, _UINT64, _ARRAY = 2, 5, 6, 7, 9, 11


def write_mmdb(path: Path, networks: Mapping[str, Any], *, kind: str = "Test-Country") -> Path:
    """Write the database and return its path."""
    data = bytearray()
    tree: list[list[int | None]] = [[None, None]]
    offsets: dict[int, int] = {}  # records are negative numbers until the size of the tree is known
    for number, (text, record) in enumerate(networks.items(), 1):
        offsets[number] = len(data)
        data += _encode(record)
        _insert(tree, _bits(text), -number)
    count = len(tree)
    nodes = bytearray()
    for node in tree:
        for child in node:
            if child is None:
                value = count
            elif child < 0:
                value = count + len(_SEPARATOR) + offsets[-child]
            else:
                value = child
            nodes += value.to_bytes(3, "big")
    path.write_bytes(bytes(nodes) + _SEPARATOR + bytes(data) + _METADATA_MARKER + _encode(_metadata(count, kind)))
    return path


def _bits(text: str) -> str:
    network = ip_network(text)
    if isinstance(network, IPv4Network):  # IPv4 addresses are below ::/96
        network = IPv6Network((int(network.network_address), network.prefixlen + 96))
    return f"{int(network.network_address):0128b}"[: network.prefixlen]


def _insert(tree: list[list[int | None]], bits: str, leaf: int) -> None:
    node = 0
    for bit in bits[:-1]:
        child = tree[node][int(bit)]
        if child is None:
            child = tree[node][int(bit)] = len(tree)
            tree.append([None, None])
        assert child >= 0, "networks of one database must not overlap"
        node = child
    tree[node][int(bits[-1])] = leaf


def _metadata(count: int, kind: str) -> dict[str, Any]:
    return {
        "binary_format_major_version": (_UINT16, 2),
        "binary_format_minor_version": (_UINT16, 0),
        "build_epoch": (_UINT64, int(time.time())),
        "database_type": kind,
        "description": {"en": "for tests"},
        "ip_version": (_UINT16, 6),
        "languages": ["en"],
        "node_count": (_UINT32, count),
        "record_size": (_UINT16, 24),
    }


def _encode(value: Any) -> bytes:
    match value:
        case str():
            raw = value.encode()
            return _control(_STRING, len(raw)) + raw
        case int():
            return _encode((_UINT32 if value < 2**32 else _UINT64, value))
        case (int(kind), int(number)):  # readers require the width of each number
            raw = number.to_bytes(8, "big").lstrip(b"\0")
            return _control(kind, len(raw)) + raw
        case list():
            return _control(_ARRAY, len(value)) + b"".join(map(_encode, value))
        case dict():
            pairs = (_encode(key) + _encode(item) for key, item in value.items())
            return _control(_MAP, len(value)) + b"".join(pairs)
    raise TypeError(type(value).__name__)


def _control(kind: int, size: int) -> bytes:
    long = size >= 29  # one more byte then counts from 29
    low = 29 if long else size
    head = bytes([kind << 5 | low]) if kind < 8 else bytes([low, kind - 7])
    return head + (bytes([size - 29]) if long else b"")
