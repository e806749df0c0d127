"""An open-loop HTTP/1.1 client: requests at fixed moments, whether or not the ones before were answered.

A latency counts from the moment at which the request was due, so that a server that stalls pays for every request that
was kept waiting, not for one (coordinated omission). One thread waits with the precision of ``select``: an event loop
rounds to milliseconds, which would hide what an answer takes.
"""

import random
import select
import socket
import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import cycle

from bench.load import content_length

_CONNECTIONS = 32
_WAIT_SECONDS = 10.0
_END = b"\r\n\r\n"


def latencies(
    port: int,
    requests: Sequence[bytes],
    *,
    rate: float,
    until: Callable[[], bool],
    chance: random.Random | None = None,
) -> list[float]:
    """Return the seconds that each of ``rate`` requests a second took, these by turns, sent until ``until()`` holds.

    They come at even distances, or by ``chance`` as independent visitors do (Poisson). A rate of 0 sends each when the
    one before was answered. Raises OSError if the server closes a connection in between, answers other than 200, or
    stops answering.
    """
    lines = _Connections(port)
    try:
        if rate == 0:
            return _one_by_one(lines, cycle(requests), until)
        return _sent(lines, cycle(requests), lambda: chance.expovariate(rate) if chance else 1 / rate, until)
    finally:
        lines.close()


def percentile(values: list[float], share: float) -> float:
    """Return the smallest value that this share of them does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def _one_by_one(lines: "_Connections", requests: "cycle[bytes]", until: Callable[[], bool]) -> list[float]:
    took: list[float] = []
    while not until():
        lines.ask(next(requests), time.perf_counter())
        while lines.asked:
            took += lines.answers(_WAIT_SECONDS)
    return took


def _sent(
    lines: "_Connections", requests: "cycle[bytes]", distance: Callable[[], float], until: Callable[[], bool]
) -> list[float]:
    waiting: deque[float] = deque()
    took: list[float] = []
    due, over = time.perf_counter(), False
    while not over or waiting or lines.asked:
        now = time.perf_counter()
        over = over or until()
        while not over and due <= now:
            waiting.append(due)
            due += distance()
        while waiting and lines.free:
            lines.ask(next(requests), waiting.popleft())
        if lines.asked or not over:
            took += lines.answers(_WAIT_SECONDS if over else max(0.0, due - time.perf_counter()))
    return took


class _Connections:
    """Keep-alive connections; each has one request under way, or is free."""

    def __init__(self, port: int) -> None:
        self.free = [socket.create_connection(("127.0.0.1", port)) for _ in range(_CONNECTIONS)]
        self.asked: dict[socket.socket, tuple[float, bytes]] = {}
        for each in self.free:
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, request: bytes, due: float) -> None:
        """Send on a connection that is free. A request fits into the buffer of a socket: nothing blocks."""
        line = self.free.pop()
        line.sendall(request)
        self.asked[line] = (due, b"")

    def answers(self, seconds: float) -> list[float]:
        """Wait for at most so long for an answer; return what the whole ones took."""
        ready, _, _ = select.select(list(self.asked), [], [], seconds)
        if not ready and seconds >= _WAIT_SECONDS:
            raise OSError(f"no answer within {seconds:.0f} s")
        now, took = time.perf_counter(), []
        for line in ready:
            due, before = self.asked[line]
            received = line.recv(65536)
            if not received:
                raise OSError("the server closed a connection")
            if not _is_whole(before + received):
                self.asked[line] = (due, before + received)
                continue
            del self.asked[line]
            self.free.append(line)
            took.append(now - due)
        return took

    def close(self) -> None:
        """Close them all."""
        for each in (*self.free, *self.asked):
            each.close()


def _is_whole(answer: bytes) -> bool:
    """True once all of it is there. Raises OSError for another status than 200."""
    head, found, body = answer.partition(_END)
    if not found:
        return False
    if not head.startswith(b"HTTP/1.1 200"):
        raise OSError(f"an answer begins {head[:40]!r}")
    return len(body) >= content_length(head)
