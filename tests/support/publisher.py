"""A loopback HTTP server that publishes lists and databases, or fails as scripted."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answers = Mapping[str, tuple[int, Mapping[str, str], bytes] | Callable[[Any, threading.Event], None]]


class Publisher:
    """Responds by path: (status, headers, body), or a function of the request; ``asked`` has the headers received."""

    def __init__(self, answers: Answers) -> None:
        self.answers = answers
        self.asked: list[dict[str, str]] = []
        self.over = threading.Event()
        publisher = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                publisher.asked.append(dict(self.headers))
                answer = publisher.answers[self.path.partition("?")[0]]
                if callable(answer):
                    answer(self, publisher.over)
                else:
                    self.answer(*answer)

            def answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@contextmanager
def publishing(answers: Answers) -> Iterator[Publisher]:
    """Run a publisher for the duration of the block."""
    publisher = Publisher(answers)
    threading.Thread(target=publisher.server.serve_forever, args=[0.01], daemon=True).start()
    try:
        yield publisher
    finally:
        publisher.over.set()
        publisher.server.shutdown()
        publisher.server.server_close()
