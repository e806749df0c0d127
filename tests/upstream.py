"""A site to protect, in this process: it keeps what reaches it."""

import http.client
import http.server
import threading
from typing import Any, Self


class Upstream:
    """The protected site: answers 200 to everything and keeps the headers it got."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, http.client.HTTPMessage]] = []
        self.status = 200
        upstream = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                upstream.requests.append((self.requestline, self.headers))
                self.send_response(upstream.status)
                self.send_header("X-Gatewall-Decision-Id", "forged-by-the-site")
                self.send_header("Content-Length", "4")
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(b"site")

            do_GET = do_HEAD = do_POST = do_PUT = answer  # noqa: N815 (names of http.server)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (name of http.server)
                """Say nothing: the test asks for what it wants to know."""

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
    def last(self) -> http.client.HTTPMessage:
        """The headers of the newest request."""
        return self.requests[-1][1]
