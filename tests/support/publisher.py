"""A server on loopback that publishes lists and databases, well or badly."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Publisher:
    """Answers by path: (status, headers, body), or a function that is handed the request; ``asked`` are its headers."""

    def __init__(self, answers):
        self.answers = answers
        self.asked = []
        self.over = threading.Event()
        publisher = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                publisher.asked.append(dict(self.headers))
                answer = publisher.answers[self.path.partition("?")[0]]
                if callable(answer):
                    answer(self, publisher.over)
                else:
                    self.answer(*answer)

            def answer(self, status, headers, body):
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@contextmanager
def publishing(answers):
    """Give a publisher for as long as the block."""
    publisher = Publisher(answers)
    threading.Thread(target=publisher.server.serve_forever, args=[0.01], daemon=True).start()
    try:
        yield publisher
    finally:
        publisher.over.set()
        publisher.server.shutdown()
        publisher.server.server_close()
