"""A server on loopback that records every request; it answers by itself, or forwards another server's answers."""

import http.client
import select
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

PATIENCE = 60
_OF_THE_CONNECTION = {"connection", "keep-alive", "transfer-encoding", "content-length"}


@dataclass(frozen=True)
class Seen:
    """One request as it was on the wire: latin-1 texts, headers in their order."""

    session: str
    method: str
    uri: str
    headers: tuple[tuple[str, str], ...]
    body: bytes = b""


@dataclass
class Reply:
    """The answer of a tap without a server behind it."""

    status: int = 200
    kind: str = "application/json"
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    cookies: tuple[str, ...] = ()
    """Values of ``Set-Cookie``, of which a response may have several."""


Answer = Callable[[str, str, bytes], Reply]


class Tape:
    """All requests seen, in their order."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []

    @contextmanager
    def listening(self, session: str, *, upstream: int | None = None, answer: Answer | None = None) -> Iterator[int]:
        """Yield the port of a tap before the upstream port, or of one that answers by itself."""
        tape = self

        class Handler(_Handler):
            def note(self, body: bytes) -> None:
                tape.seen.append(Seen(session, self.command, self.path, tuple(self.headers.items()), body))

            def switched(self) -> bool:
                return upstream is not None and self.tunnelled(upstream)

            def reply(self, body: bytes) -> Reply:
                if upstream is None:
                    return (answer or _empty)(self.command, self.path, body)
                return self.passed_on(upstream, body)

        server = _Server(("127.0.0.1", 0), Handler)
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            server.server_close()


def _empty(method: str, uri: str, body: bytes) -> Reply:
    return Reply()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that disconnect."""


class _Handler(BaseHTTPRequestHandler):
    """Read a request; the subclasses below decide what to record and to answer."""

    protocol_version = "HTTP/1.1"
    timeout = PATIENCE

    def note(self, body: bytes) -> None:
        raise NotImplementedError

    def switched(self) -> bool:
        raise NotImplementedError

    def reply(self, body: bytes) -> Reply:
        raise NotImplementedError

    def handle_any(self) -> None:
        body = self.read_body()
        self.note(body)
        if "upgrade" in self.headers.get("Connection", "").lower() and self.switched():
            return
        reply = self.reply(body)
        self.send_response_only(reply.status)
        for name, value in reply.headers.items():
            if name.lower() not in _OF_THE_CONNECTION:
                self.send_header(name, value)
        for cookie in reply.cookies:
            self.send_header("Set-Cookie", cookie)
        if "content-type" not in {name.lower() for name in reply.headers}:
            self.send_header("Content-Type", reply.kind)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(reply.body)

    def __getattr__(self, name: str) -> Callable[[], None]:
        """Handle any method: WebDAV has a dozen."""
        if name.startswith("do_"):
            return self.handle_any
        raise AttributeError(name)

    def read_body(self) -> bytes:
        if self.headers.get("Expect", "").lower() == "100-continue":
            pass  # http.server has answered that
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            parts = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def passed_on(self, port: int, body: bytes) -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        try:
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in {*_OF_THE_CONNECTION, "expect"}:
                    connection.putheader(name, value)
            connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            response = connection.getresponse()
            headers = {name: value for name, value in response.getheaders() if name.lower() != "set-cookie"}
            cookies = tuple(response.msg.get_all("Set-Cookie") or ())
            return Reply(response.status, "", response.read(), headers, cookies)
        finally:
            connection.close()

    def tunnelled(self, port: int) -> bool:
        """Pass a WebSocket through until one end closes it."""
        head = f"{self.command} {self.path} HTTP/1.1\r\n" + "".join(f"{n}: {v}\r\n" for n, v in self.headers.items())
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as server:
            server.sendall(f"{head}\r\n".encode("latin-1"))
            ends = {server: self.connection, self.connection: server}
            while ready := select.select(list(ends), [], [], PATIENCE)[0]:
                for end in ready:
                    data = end.recv(65_536)
                    if not data:
                        self.close_connection = True
                        return True
                    ends[end].sendall(data)
        self.close_connection = True
        return True

    def log_message(self, *arguments: object) -> None:
        """Log nothing: the tape is the log."""
