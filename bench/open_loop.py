"""Open-loop HTTP/1.1 client: requests at fixed times, whether or not earlier ones were answered.

A latency counts from when the request was due, so that a stall delays every waiting request (coordinated omission). One
thread with ``select``, because event loops round to milliseconds.
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
    """Return the latencies in seconds of ``rate`` requests per second, in turn, sent until ``until()`` is true.

    Intervals are equal, or random by ``chance`` (Poisson). Rate 0 sends one request after the other. Raises OSError
    if the server closes a connection, answers other than 200, or stops answering.
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
    """Keep-alive connections, each with at most one request in flight."""

    def __init__(self, port: int) -> None:
        self.free = [socket.create_connection(("127.0.0.1", port)) for _ in range(_CONNECTIONS)]
        self.asked: dict[socket.socket, tuple[float, bytes]] = {}
        for each in self.free:
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, request: bytes, due: float) -> None:
        """Send on an idle connection. A request fits into a socket's buffer, so this does not block."""
        line = self.free.pop()
        line.sendall(request)
        self.asked[line] = (due, b"")

    def answers(self, seconds: float) -> list[float]:
        """Wait for answers up to this time; return the latencies of complete ones."""
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
    """Return whether the response is complete. Raises OSError for a status other than 200."""
    head, found, body = answer.partition(_END)
    if not found:
        return False
    if not head.startswith(b"HTTP/1.1 200"):
        raise OSError(f"an answer begins {head[:40]!r}")
    return len(body) >= content_length(head)
