"""A closed-loop HTTP/1.1 client: so many keep-alive connections, one request after another on each."""

import asyncio
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sent:
    """How many requests were answered, and with which statuses."""

    requests: int
    statuses: dict[int, int]


def send(port: int, request: bytes, *, requests: int, connections: int = 8) -> Sent:
    """Send the request that often to a loopback port and return what came back.

    Raises OSError if the server closes a connection in between.
    """
    return asyncio.run(_send(port, request, requests, connections))


async def _send(port: int, request: bytes, requests: int, connections: int) -> Sent:
    share = requests // connections
    counted = await asyncio.gather(*(_one_connection(port, request, share) for _ in range(connections)))
    statuses: dict[int, int] = {}
    for part in counted:
        for status, count in part.items():
            statuses[status] = statuses.get(status, 0) + count
    return Sent(share * connections, statuses)


async def _one_connection(port: int, request: bytes, requests: int) -> dict[int, int]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    statuses: dict[int, int] = {}
    try:
        for _ in range(requests):
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            status = int(head[9:12])
            length = _content_length(head)
            if length:
                await reader.readexactly(length)
            statuses[status] = statuses.get(status, 0) + 1
    finally:
        writer.close()
        await writer.wait_closed()
    return statuses


def _content_length(head: bytes) -> int:
    _, found, rest = head.lower().partition(b"\r\ncontent-length:")
    return int(rest.partition(b"\r\n")[0]) if found else 0
