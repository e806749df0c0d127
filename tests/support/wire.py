"""Raw bytes to a server and back over a socket: requests that a client library would not send."""

import re
import socket
from collections.abc import Iterable
from contextlib import suppress
from itertools import pairwise
from typing import NamedTuple, Self

from tests.support.processes import PATIENCE


class Given(NamedTuple):
    """A response: status, headers by lower-case name, body."""

    status: int
    headers: dict[str, str]
    body: bytes


def a_request(*lines: str, method: str = "GET", target: str = "/wall/auth", body: bytes = b"") -> bytes:
    """Return the bytes of a request; text is latin-1."""
    head = "".join(f"{line}\r\n" for line in (f"{method} {target} HTTP/1.1", "Host: gatewall", *lines))
    return f"{head}\r\n".encode("latin-1") + body


def answers_in(data: bytes, *, to_head: bool = False) -> list[Given]:
    """Return the pipelined responses in these bytes; fail on anything else."""
    found = []
    while data:
        head, end, data = data.partition(b"\r\n\r\n")
        assert end, head
        start, *fields = head.decode("latin-1").split("\r\n")
        assert re.fullmatch(r"HTTP/1\.1 [1-5][0-9]{2} [A-Za-z -]+", start), start
        pairs = [(name.lower(), value) for name, _, value in (field.partition(": ") for field in fields)]
        assert len(dict(pairs)) == len(pairs), pairs
        length = 0 if to_head else int(dict(pairs).get("content-length", "0"))
        assert len(data) >= length
        found.append(Given(int(start.split(" ")[1]), dict(pairs), data[:length]))
        data = data[length:]
    return found


class Wire:
    """A connection to a loopback port."""

    def __init__(self, port: int, *, patience: float = PATIENCE, receive_buffer: int | None = None) -> None:
        self.socket = socket.socket()
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(patience)
        self.socket.connect(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._there = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            self.socket.sendall(piece)

    def ask(self, *pieces: bytes) -> Given:
        """Send, and return the only response."""
        self.send(*pieces)
        return self.answer()

    def answer(self) -> Given:
        """Return the next response; further bytes are kept."""
        while b"\r\n\r\n" not in self._there:
            self._more()
        head, _, rest = self._there.partition(b"\r\n\r\n")
        length = int((re.search(rb"\ncontent-length: (\d+)", head, re.IGNORECASE) or [0, 0])[1])
        while len(rest) < length:
            self._more()
            rest = self._there[len(head) + 4 :]
        self._there = rest[length:]
        (given,) = answers_in(head + b"\r\n\r\n" + rest[:length])
        return given

    def rest(self) -> list[Given]:
        """Return all responses until the server closes."""
        data = self._there
        while piece := self.socket.recv(65_536):
            data += piece
        return answers_in(data)

    def is_closed(self) -> bool:
        """Return whether the server has closed without further bytes."""
        with suppress(ConnectionResetError):
            return not self._there and self.socket.recv(1) == b""
        return True

    def _more(self) -> None:
        piece = self.socket.recv(65_536)
        assert piece, f"closed after {self._there!r}"
        self._there += piece


def split(data: bytes, places: Iterable[int]) -> list[bytes]:
    """Return the data split at these offsets."""
    cuts = [0, *sorted(set(places)), len(data)]
    return [data[start:end] for start, end in pairwise(cuts) if start < end]
