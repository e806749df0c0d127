"""Closed-loop HTTP/1.1 client: keep-alive connections, one request at a time on each."""

import asyncio
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sent:
    """Number of answers by status."""

    requests: int
    statuses: dict[int, int]


def send(port: int, request: bytes, *, requests: int, connections: int = 8) -> Sent:
    """Send the request this often to a loopback port; return the answers.

    Raises OSError if the server closes a connection in between.
    """
    share = requests // connections
    return asyncio.run(_send(port, [itertools.repeat(request, share) for _ in range(connections)]))


def send_each(port: int, requests: Sequence[bytes], *, connections: int = 8) -> Sent:
    """Send each of these requests once; return the answers. Raises OSError like ``send``."""
    return asyncio.run(_send(port, [requests[number::connections] for number in range(connections)]))


def status(port: int, request: bytes) -> int:
    """Return the status of a response on a new connection. Raises OSError without a response."""
    (found,) = send(port, request, requests=1, connections=1).statuses
    return found


async def _send(port: int, shares: Sequence[Iterable[bytes]]) -> Sent:
    counted = await asyncio.gather(*(_one_connection(port, share) for share in shares))
    statuses: dict[int, int] = {}
    for part in counted:
        for status, count in part.items():
            statuses[status] = statuses.get(status, 0) + count
    return Sent(sum(statuses.values()), statuses)


async def _one_connection(port: int, requests: Iterable[bytes]) -> dict[int, int]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    statuses: dict[int, int] = {}
    try:
        for request in requests:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            status = int(head[9:12])
            length = content_length(head)
            if length:
                await reader.readexactly(length)
            statuses[status] = statuses.get(status, 0) + 1
    finally:
        writer.close()
        await writer.wait_closed()
    return statuses


def content_length(head: bytes) -> int:
    """Return the body length announced by the head."""
    _, found, rest = head.lower().partition(b"\r\ncontent-length:")
    return int(rest.partition(b"\r\n")[0]) if found else 0
