"""Visitors that send requests at a fixed rate, and a ledger of all their answers."""

import itertools
import re
import socket
import threading
import time
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from typing import Self
from uuid import UUID

from tests.support.servers import RightAnswers

_HEAD = re.compile(
    rb"HTTP/1\.1 (?P<status>\d{3}) .*\r\nx-gatewall-decision-id: (?P<decision>[0-9a-f-]{36})\r\n",
    re.DOTALL | re.IGNORECASE,
)
_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)
_PATIENCE_SECONDS = 10


class NoAnswer(OSError):
    """The connection closed before the response was complete."""


class Ledger:
    """The answers: status by decision id, and times. Shared by all visitors."""

    def __init__(self) -> None:
        self.answers: dict[UUID, int] = {}
        self.times: dict[int, array[float]] = {}
        self.repeated = 0
        self.broken = 0
        self.refused = 0
        self.wrong: Counter[tuple[int, int]] = Counter()
        self.slowest = 0.0
        self._lock = threading.Lock()

    def add(self, port: int, decision: UUID, status: int, right: int, due: float) -> None:
        """Record an answer whose request was due at this time (monotonic)."""
        now = time.monotonic()
        with self._lock:
            self.repeated += decision in self.answers
            self.answers[decision] = status
            self.times.setdefault(port, array("d")).append(now)
            self.slowest = max(self.slowest, now - due)
            if status != right:
                self.wrong[status, right] += 1

    def lose(self, *, asked: bool) -> None:
        """Record a broken connection, during a request or while idle."""
        with self._lock:
            self.broken += asked
            self.refused += not asked

    @property
    def newest(self) -> UUID:
        """Return the newest decision id."""
        with self._lock:
            return next(reversed(self.answers))

    def errors(self) -> int:
        """Return the number of 5xx responses."""
        return sum(number for (status, _), number in self.wrong.items() if status >= 500)

    def silence(self, since: float, until: float) -> float:
        """Return the longest time without an answer from one port between two times (monotonic)."""
        return max(longest_pause(moments, since, until) for moments in list(self.times.values()))


def longest_pause(moments: "array[float]", since: float, until: float) -> float:
    """Return the longest time without one of these moments, which are in order."""
    inside = [since, *moments[bisect_left(moments, since) : bisect_right(moments, until)], until]
    return max(after - before for before, after in itertools.pairwise(inside))


class Visitors:
    """Visitors at each port over keep-alive connections, with a total rate (open loop).

    A delayed connection sends without pauses until it has caught up; latencies count from when a request was due.
    """

    def __init__(self, ledger: Ledger, ports: Sequence[int], right: RightAnswers, *, rate: float) -> None:
        self.ledger = ledger
        self._stop = threading.Event()
        self._questions = [(wire(headers), verdict.status) for headers, verdict in right]
        self._between = len(ports) / rate
        self.right = right
        self._ports = ports
        self._rate = rate
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self._stop.clear()
        self._threads = [
            threading.Thread(target=self._run, args=(port, number / self._rate), daemon=True)
            for number, port in enumerate(self._ports)
        ]
        for thread in self._threads:
            thread.start()
        self.wait_for_more(len(self._threads))
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def wait_for_more(self, answers: int = 100, seconds: float = 120) -> None:
        """Return after this many more answers; fail on a timeout."""
        goal, deadline = len(self.ledger.answers) + answers, time.monotonic() + seconds
        while len(self.ledger.answers) < goal:
            assert time.monotonic() < deadline, f"{goal - len(self.ledger.answers)} of {answers} answers did not come"
            time.sleep(0.02)

    def _run(self, port: int, offset: float) -> None:
        due, asked = time.monotonic() + offset, 0
        while not self._stop.is_set():
            connected = False
            try:
                with socket.create_connection(("127.0.0.1", port), _PATIENCE_SECONDS) as connection:
                    connected = True
                    while not self._stop.is_set():
                        self._stop.wait(max(0.0, due - time.monotonic()))
                        self._ask(connection, port, asked, due)
                        due, asked = due + self._between, asked + 1
            except OSError:
                self.ledger.lose(asked=connected)
                due = max(due, time.monotonic() - _PATIENCE_SECONDS) + self._between
                self._stop.wait(0.02)

    def _ask(self, connection: socket.socket, port: int, number: int, due: float) -> None:
        question, right = self._questions[number % len(self._questions)]
        connection.sendall(question)
        decision, status = decision_of(read_answer(connection))
        self.ledger.add(port, decision, status, right, due)


def decision_of(head: bytes) -> tuple[UUID, int]:
    """Return decision id and status of a response. Raises NoAnswer."""
    if (found := _HEAD.match(head)) is None:
        raise NoAnswer("no decision in the answer")
    return UUID(found["decision"].decode()), int(found["status"])


def wire(headers: dict[str, str]) -> bytes:
    """Return a request as bytes."""
    lines = ["GET /wall/auth HTTP/1.1", "Host: gate", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode()


def read_answer(connection: socket.socket) -> bytes:
    """Read one complete response; return its head."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += _receive(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    length = _LENGTH.search(head + b"\r\n")
    missing = (int(length[1]) if length else 0) - len(body)
    while missing > 0:
        missing -= len(_receive(connection))
    return head + b"\r\n"


def _receive(connection: socket.socket) -> bytes:
    if not (data := connection.recv(65536)):
        raise NoAnswer("the connection was closed")
    return data
