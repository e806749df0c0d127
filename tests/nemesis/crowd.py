"""Visitors in a process of their own: ``python -m tests.nemesis.crowd``, controlled by lines on standard input.

The first line has the targets and rates, each further line the current credentials; end of input ends it. Each
connection has one request in flight, and records the answer with monotonic times of its first and last byte.
"""

import heapq
import itertools
import json
import os
import random
import re
import selectors
import socket
import struct
import sys
import time
from array import array
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.kill_test.visitors import wire
from tests.nemesis.workload import CLIENTS, HOSTS, URIS
from tests.support.servers import about

PATIENCE_SECONDS = 10.0
_BEHIND_SECONDS = 1.0
"""Maximum backlog in seconds: requests held back longer by a fault are dropped."""
_FLUSH_SECONDS = 0.1
_AGAIN_SECONDS = 0.02
_KINDS = ("session", "session", "session", "git", "license", "")
_HEADER = {"session": "Service-Authorization", "git": "Service-Git-Token", "license": "Service-License"}
_STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")
_DECISION = re.compile(rb"\r\nx-gatewall-decision-id: ([0-9a-f-]{36})\r\n", re.IGNORECASE)
_REASON = re.compile(rb"\r\nx-gatewall-reason: ([a-z-]+)\r\n", re.IGNORECASE)
_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)
COUNTS = struct.Struct("=5q")
"""Format of the file of counts: answers, 5xx answers, requests without an answer, refused connections, and repeated
requests. A used connection that is closed without a byte of the answer was closed while it was idle: the request is
sent again on a new one, as nginx does (RFC 9112, section 9.3.1)."""


class Writer:
    """Writes answers in batches: the ledger, the times of each endpoint, and the counts."""

    def __init__(self, folder: Path, endpoints: int) -> None:
        self._ledger = (folder / "ledger.tsv").open("a", encoding="ascii")
        self._moments = [(folder / f"moments-{endpoint}").open("ab") for endpoint in range(endpoints)]
        self._counts = os.open(folder / "counts", os.O_WRONLY | os.O_CREAT, 0o600)
        self._lines: list[str] = []
        self._new = [array("d") for _ in range(endpoints)]
        self.answers = self.errors = self.broken = self.refused = self.again = 0

    def add(self, endpoint: int, line: str, status: bytes, received: float) -> None:
        self._lines.append(line)
        self._new[endpoint].append(received)
        self.answers += 1
        self.errors += status >= b"500"

    def flush(self) -> None:
        """Write the counts last: their readers find everything else."""
        self._ledger.write("".join(self._lines))
        self._ledger.flush()
        self._lines.clear()
        for file, new in zip(self._moments, self._new, strict=True):
            file.write(new.tobytes())
            file.flush()
            del new[:]
        os.pwrite(self._counts, COUNTS.pack(self.answers, self.errors, self.broken, self.refused, self.again), 0)


class Connection:
    """A keep-alive connection to an endpoint, or an attempt at one."""

    __slots__ = ("address", "asked", "connected", "data", "due", "endpoint", "sent", "socket", "until", "used")

    def __init__(self, endpoint: int, address: tuple[str, int], due: float) -> None:
        self.endpoint, self.address, self.due = endpoint, address, due
        self.socket: socket.socket | None = None
        self.connected = False
        self.asked = ""
        """The request in flight, as a line of the ledger."""
        self.sent = self.until = 0.0
        self.data = b""
        self.used = False


class Crowd:
    """All connections, in one thread."""

    def __init__(self, orders: dict[str, Any]) -> None:
        self._choice = random.Random(orders["seed"])  # noqa: S311 - a seed
        endpoints = orders["endpoints"]
        self._between = [endpoint["connections"] / endpoint["rate"] for endpoint in endpoints]
        self._writer = Writer(Path(orders["folder"]), len(endpoints))
        self._selector = selectors.DefaultSelector()
        self._known: dict[str, list[tuple[str, bytes]]] = {"": [("", b"")]}
        self._texts: dict[tuple[str, str, str], bytes] = {}
        self._count = itertools.count()
        began = time.monotonic()
        self._waiting: list[Any] = []
        self._all = [
            Connection(
                number,
                (endpoint["address"], endpoint["port"]),
                began + index * self._between[number] / endpoint["connections"],
            )
            for number, endpoint in enumerate(endpoints)
            for index in range(endpoint["connections"])
        ]
        for connection in self._all:
            self._wait(connection)

    def run(self) -> None:
        os.set_blocking(0, False)
        self._selector.register(0, selectors.EVENT_READ)
        orders, flush_at, look_at = b"", 0.0, 0.0
        while True:
            now = time.monotonic()
            while self._waiting and self._waiting[0][0] <= now:
                self._continue(heapq.heappop(self._waiting)[2])
            if now >= flush_at:
                self._writer.flush()
                flush_at = now + _FLUSH_SECONDS
            if now >= look_at:
                self._give_up(now)
                look_at = now + 1
            next_at = min(self._waiting[0][0] if self._waiting else flush_at, flush_at)
            for key, _ in self._selector.select(max(0.0, next_at - time.monotonic())):
                if key.data is not None:
                    self._receive(key.data)
                    continue
                if not (new := os.read(0, 1 << 20)):
                    self._writer.flush()
                    return
                *lines, orders = (orders + new).split(b"\n")
                for line in lines:
                    self.use_credentials(json.loads(line))

    def use_credentials(self, credentials: dict[str, list[tuple[str, str]]]) -> None:
        """Use these credentials from now on."""
        for kind, known in credentials.items():
            self._known[kind] = [(key, f"{_HEADER[kind]}: {token}\r\n".encode()) for key, token in known]

    def _wait(self, connection: Connection) -> None:
        heapq.heappush(self._waiting, (connection.due, next(self._count), connection))

    def _continue(self, connection: Connection) -> None:
        """Connect, or send the next request."""
        if connection.socket is None:
            self._connect(connection)
        elif connection.connected:
            self._ask(connection)

    def _connect(self, connection: Connection) -> None:
        connection.socket = socket.socket()
        connection.socket.setblocking(False)
        connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.until = time.monotonic() + PATIENCE_SECONDS
        connection.socket.connect_ex(connection.address)
        self._selector.register(connection.socket, selectors.EVENT_WRITE, connection)

    def _ask(self, connection: Connection) -> None:
        assert connection.socket is not None
        connection.asked, text = self._question()
        connection.data = b""
        connection.sent = time.monotonic()
        connection.until = connection.sent + PATIENCE_SECONDS
        try:
            sent = connection.socket.send(text)
        except OSError:
            self._lose(connection, closed=True)
        else:
            if sent < len(text):  # a few KiB always fit into an empty socket
                self._lose(connection)

    def _question(self) -> tuple[str, bytes]:
        random_ = self._choice.random
        kind = _KINDS[int(random_() * len(_KINDS))]
        known = self._known.get(kind)
        if not known:
            kind, known = "", self._known[""]
        key, credential = known[int(max(random_(), random_()) * len(known))]  # the newest most often
        client = CLIENTS[int(random_() * len(CLIENTS))]
        host, uri = HOSTS[int(random_() * len(HOSTS))], URIS[int(random_() * len(URIS))]
        text = self._texts.get((client, host, uri))
        if text is None:
            text = wire(about(client=client, host=host, uri=uri)).removesuffix(b"\r\n")
            self._texts[client, host, uri] = text
        return f"{client}\t{host}\t{uri}\t{kind}\t{key}", text + credential + b"\r\n"

    def _receive(self, connection: Connection) -> None:
        assert connection.socket is not None
        if not connection.connected:
            if connection.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                self._lose(connection)
                return
            connection.connected = True
            self._selector.modify(connection.socket, selectors.EVENT_READ, connection)
            self._ask(connection)
            return
        try:
            data = connection.socket.recv(65536)
        except OSError:
            data = b""
        if not data:
            self._lose(connection, closed=True)
            return
        connection.data += data
        head, end, body = connection.data.partition(b"\r\n\r\n")
        if not end:
            return
        head += b"\r\n"
        length = _LENGTH.search(head)
        if len(body) >= (int(length[1]) if length else 0):
            self._write_down(connection, head, time.monotonic())

    def _write_down(self, connection: Connection, head: bytes, received: float) -> None:
        status, decision, reason = _STATUS.match(head), _DECISION.search(head), _REASON.search(head)
        if status is None or decision is None or reason is None or not connection.asked:
            self._lose(connection)
            return
        line = (
            f"{decision[1].decode()}\t{connection.asked}\t{connection.sent:.6f}\t{received:.6f}\t"
            f"{status[1].decode()}\t{reason[1].decode()}\t{connection.endpoint}\n"
        )
        self._writer.add(connection.endpoint, line, status[1], received)
        connection.asked, connection.used = "", True
        connection.due = max(connection.due + self._between[connection.endpoint], received - _BEHIND_SECONDS)
        self._wait(connection)
        if b"\nconnection: close" in head.lower():
            self._drop(connection)

    def _lose(self, connection: Connection, *, closed: bool = False) -> None:
        """Record a request without an answer, and retry a little later."""
        waited = connection.connected and not connection.asked  # idle and in the queue already
        if closed and connection.asked and connection.used and not connection.data:
            self._writer.again += 1
            self._drop(connection)
            self._connect(connection)
            return
        self._writer.broken += bool(connection.asked)
        self._writer.refused += not connection.connected
        self._drop(connection)
        if not waited:
            connection.due = max(connection.due + self._between[connection.endpoint], time.monotonic() + _AGAIN_SECONDS)
            self._wait(connection)

    def _drop(self, connection: Connection) -> None:
        if connection.socket is not None:
            with suppress(KeyError, ValueError):
                self._selector.unregister(connection.socket)
            connection.socket.close()
        connection.socket, connection.connected, connection.used, connection.asked = None, False, False, ""

    def _give_up(self, now: float) -> None:
        for connection in self._all:
            under_way = connection.socket is not None and (not connection.connected or connection.asked)
            if under_way and connection.until < now:
                self._lose(connection)


if __name__ == "__main__":
    Crowd(json.loads(sys.stdin.buffer.raw.readline())).run()  # type: ignore[union-attr]  # a pipe
