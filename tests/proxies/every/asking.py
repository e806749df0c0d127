"""Send requests of a visitor to a proxy, and read the requests that gate and site got."""

import http.client
import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from email.message import Message
from typing import NamedTuple

import psutil

from tests.proxies.every.kinds import ENVOYS
from tests.support.processes import PATIENCE, Answer
from tests.support.upstream import Upstream

SITE = b"site"
"""The body of every answer of the site."""
PUBLIC, UNKNOWN = "public.example", "unknown.example"
"""A public site, and an unregistered one."""
WEBSOCKET = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version": "13",
}

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
AT_ONCE = 25
"""Headers in a request of `leaked`: some proxies and servers take at most 100."""
FORGED = "forged-by-the-visitor"
END_OF_BOTH = 5
"""END_STREAM and END_HEADERS flags of a HEADERS frame, RFC 9113 section 6.2."""


class Told(NamedTuple):
    """Method, host and URI of a request, as sent to the gate in headers or as received by the site."""

    method: str
    host: str
    uri: str


@dataclass(frozen=True)
class Front:
    """A running proxy of this kind, with the site behind it; `gate` is the stub of the gate, if one is used."""

    kind: str
    port: int
    site: Upstream
    gate: Upstream | None = None

    def told(self) -> Told:
        """Return the request in the newest subrequest to the gate."""
        assert self.gate, "before the real gate nobody keeps the questions"
        line, headers = self.gate.requests[-1]
        if self.kind in ENVOYS:
            method, target, _ = line.split(" ")
            assert target.startswith("/wall/auth/envoy/"), target
            return Told(method, headers["Host"], target.removeprefix("/wall/auth/envoy"))
        assert line.split()[1].removesuffix("?") == ("/wall/auth" if self.kind == "nginx" else "/wall/auth/forward"), (
            line
        )
        return Told(headers["X-Forwarded-Method"], headers["X-Forwarded-Host"], headers["X-Forwarded-Uri"])

    def names_the_visitor(self, address: str) -> bool:
        """Return whether an address is that of a visitor on loopback.

        Envoy, where it adds `X-Forwarded-For` itself, uses an own address of the machine for such a visitor.
        """
        return address == "127.0.0.1" or (self.kind == "Envoy Gateway" and address in own_addresses())

    def served(self) -> Told:
        """Return the newest request that the site got."""
        line, headers = self.site.requests[-1]
        method, rest = line.split(" ", 1)
        return Told(method, headers["Host"], rest.rpartition(" ")[0])


def own_addresses() -> set[str]:
    """Return the addresses of this machine."""
    return {each.address for interface in psutil.net_if_addrs().values() for each in interface}


def raw(port: int, head: bytes, lines: Sequence[bytes] = (), body: bytes = b"", source: str = "127.0.0.1") -> Answer:
    """Send raw request line and header lines from this address; a closed connection counts as status 0."""
    data = b"\r\n".join([head, *lines, b"Connection: close", b"", b""]) + body
    with socket.create_connection(("127.0.0.1", port), PATIENCE, (source, 0)) as connection:
        with suppress(ConnectionError):
            connection.sendall(data)
        response = http.client.HTTPResponse(connection, method=head.partition(b" ")[0].decode("latin-1"))
        try:
            response.begin()
            return Answer(response.status, response.headers, response.read())
        except (ConnectionError, http.client.BadStatusLine):
            return Answer(0, http.client.HTTPMessage(), b"")


def http2(port: int, host: str, path: str, *headers: tuple[str, str]) -> bool:
    """Send a GET over HTTP/2, wait for response headers; return False if HTTP/2 is refused or not supported."""
    fields = [(":method", "GET"), (":scheme", "http"), (":authority", host), (":path", path), *headers]
    # RFC 7541 section 6.2.2: literal fields, names and values shorter than 127 bytes.
    block = b"".join(b"\0" + b"".join(bytes([len(text)]) + text.encode() for text in field) for field in fields)
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection, suppress(ConnectionError):
        connection.sendall(PREFACE + _frame(4, 0, 0) + _frame(1, END_OF_BOTH, 1, block))
        stream = connection.makefile("rb")
        while len(head := stream.read(9)) == 9 and not head.startswith(b"HTTP/"):
            stream.read(int.from_bytes(head[:3], "big"))
            if head[3] in {1, 3, 7}:  # HEADERS, RST_STREAM, GOAWAY
                return head[3] == 1
    return False


def _frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def lines_of(port: int, headers: dict[str, str]) -> list[bytes]:
    """Return header lines with the host of a proxy on this port; text is encoded as latin-1."""
    return [f"{name}: {value}".encode("latin-1") for name, value in ({"Host": f"127.0.0.1:{port}"} | headers).items()]


def leaked(front: Front, names: Sequence[str]) -> list[str]:
    """Send these headers in batches, each with its own value; return the values that reached site or gate."""
    found = []
    for first in range(0, len(names), AT_ONCE):
        sent = {name: f"{FORGED}-{name}" for name in names[first : first + AT_ONCE]}
        before = len(front.site.requests)
        answer = raw(front.port, b"GET / HTTP/1.1", lines_of(front.port, {"Host": PUBLIC} | sent))
        assert (answer.status, len(front.site.requests)) == (200, before + 1)
        found += forged(front.site.last)
        found += forged(front.gate.last) if front.gate else []
    return found


def forged(headers: Message) -> list[str]:
    """Return the values that `leaked` generated."""
    return [value for value in headers.values() if FORGED in value]


def shake_hands(port: int, headers: dict[str, str]) -> tuple[int, bytes]:
    """Open a WebSocket and send a greeting; return the status and the echo."""
    lines = lines_of(port, WEBSOCKET | headers)
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(b"\r\n".join([b"GET /socket HTTP/1.1", *lines, b"", b""]))
        stream = connection.makefile("rb")
        status = int(stream.readline().split()[1])
        http.client.parse_headers(stream)
        if status != 101:
            return status, b""
        connection.sendall(b"hello")
        return status, stream.read(5)


def reached(front: Front, target: str, method: str = "GET", **headers: str) -> tuple[int, bool]:
    """Send a raw request line; return the status, and whether the site got the request."""
    before = len(front.site.requests)
    answer = raw(front.port, f"{method} {target} HTTP/1.1".encode("latin-1"), lines_of(front.port, headers))
    return answer.status, len(front.site.requests) > before
