"""A protected site in this process that records the requests it receives."""

import base64
import hashlib
import http.client
import http.server
import io
import threading
from email.message import Message
from typing import Any, Self

WEBSOCKET_KEY = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
"""The GUID of the WebSocket handshake (RFC 6455 section 1.3)."""


def read_body(headers: Message, stream: io.BufferedIOBase) -> tuple[bytes, http.client.HTTPMessage]:
    """Return the body announced by the headers, and its trailers."""
    if headers.get("Transfer-Encoding", "").lower() != "chunked":
        return stream.read(int(headers.get("Content-Length", 0))), http.client.HTTPMessage()
    body = b""
    while size := int(stream.readline().split(b";")[0], 16):
        body += stream.read(size)
        stream.readline()
    return body, http.client.parse_headers(stream)


class Upstream:
    """The protected site: answers 200 to everything and records headers, bodies and the newest trailers.

    `status`, `headers` and `silent` (an event; no answer until set) change the answers; WebSockets echo.
    """

    def __init__(self) -> None:
        self.requests: list[tuple[str, Message]] = []
        self.bodies: list[bytes] = []
        self.trailers = http.client.HTTPMessage()
        self.status = 200
        self.headers = {"X-Gatewall-Decision-Id": "forged-by-the-site"}
        self.silent: threading.Event | None = None
        upstream = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self) -> None:
                body, upstream.trailers = read_body(self.headers, self.rfile)
                upstream.bodies.append(body)
                upstream.requests.append((self.requestline, self.headers))
                if upstream.silent:
                    upstream.silent.wait(60)
                if self.headers.get("Upgrade", "").lower() == "websocket" and upstream.status == 200:
                    self.take_websocket()
                    return
                has_body = upstream.status not in {204, 205, 304}
                self.send_response(upstream.status)
                for name, value in upstream.headers.items():
                    self.send_header(name, value)
                if has_body:
                    self.send_header("Content-Length", "4")
                self.end_headers()
                if has_body and self.command != "HEAD":
                    self.wfile.write(b"site")

            def take_websocket(self) -> None:
                key = self.headers["Sec-WebSocket-Key"].encode() + WEBSOCKET_KEY
                accepted = base64.b64encode(hashlib.sha1(key).digest()).decode()  # noqa: S324 (RFC 6455 says so)
                self.protocol_version = "HTTP/1.1"
                self.send_response(101)
                self.send_header("Upgrade", "websocket")
                self.send_header("Connection", "Upgrade")
                self.send_header("Sec-WebSocket-Accept", accepted)
                self.end_headers()
                self.wfile.write(self.rfile.read(5))
                self.close_connection = True

            do_GET = do_HEAD = do_POST = do_PUT = answer  # noqa: N815 (names of http.server)
            do_DELETE = do_OPTIONS = do_PATCH = answer  # noqa: N815 (names of http.server)
            do_COPY = do_MOVE = answer  # noqa: N815 (names of http.server)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (name of http.server)
                """Log nothing."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    @property
    def last(self) -> Message:
        """Return the headers of the newest request."""
        return self.requests[-1][1]
