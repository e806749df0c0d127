"""Closed-loop HTTP/1.1 client: keep-alive connections, one request at a time on each.

It costs less than most servers, so that those work without pauses, as under load: with a slow client every answer pays
for a wake-up of its own.
"""

import itertools
import select
import socket
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

_SECONDS = 60.0
"""Without an answer for this long, the server hangs."""
_AT_ONCE = 65_536


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
    return _send(port, [itertools.repeat(request, share) for _ in range(connections)])


def send_each(port: int, requests: Sequence[bytes], *, connections: int = 8) -> Sent:
    """Send each of these requests once; return the answers. Raises OSError like ``send``."""
    return _send(port, [requests[number::connections] for number in range(connections)])


def status(port: int, request: bytes) -> int:
    """Return the status of a response on a new connection. Raises OSError without a response."""
    (found,) = send(port, request, requests=1, connections=1).statuses
    return found


def _send(port: int, shares: Sequence[Iterable[bytes]]) -> Sent:
    statuses: dict[int, int] = {}
    waiting: dict[int, tuple[socket.socket, Iterator[bytes], bytes]] = {}
    with select.epoll() as ready:
        try:
            for share in map(iter, shares):
                line = socket.create_connection(("127.0.0.1", port), timeout=_SECONDS)
                line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                waiting[line.fileno()] = line, share, b""
                ready.register(line, select.EPOLLIN)
                _next(waiting, line, share)
            while waiting:
                there = ready.poll(_SECONDS)
                if not there:
                    raise TimeoutError("the server does not answer")
                for descriptor, _ in there:
                    line, share, data = waiting[descriptor]
                    piece = line.recv(_AT_ONCE)
                    if not piece:
                        raise ConnectionResetError("the server closed a connection")
                    data += piece
                    if _is_whole(data):
                        found = int(data[9:12])
                        statuses[found] = statuses.get(found, 0) + 1
                        _next(waiting, line, share)
                    else:
                        waiting[descriptor] = line, share, data
        finally:
            for line, _, _ in waiting.values():
                line.close()
    return Sent(sum(statuses.values()), statuses)


def _next(
    waiting: dict[int, tuple[socket.socket, Iterator[bytes], bytes]], line: socket.socket, share: Iterator[bytes]
) -> None:
    """Send the next request of a connection, or close it."""
    request = next(share, None)
    if request is None:
        del waiting[line.fileno()]
        line.close()
        return
    waiting[line.fileno()] = line, share, b""
    line.sendall(request)


def _is_whole(data: bytes) -> bool:
    end = data.find(b"\r\n\r\n")
    return end >= 0 and len(data) >= end + 4 + content_length(data[: end + 4])


def content_length(head: bytes) -> int:
    """Return the body length announced by the head."""
    _, found, rest = head.lower().partition(b"\r\ncontent-length:")
    return int(rest.partition(b"\r\n")[0]) if found else 0
