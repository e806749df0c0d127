"""A loopback webhook receiver, and a sender of due deliveries."""

import base64
import hmac
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from gatewall.agent.webhook_sender import WebhookSender
from webhooks import services
from webhooks.models import Delivery, Webhook


class Receiver:
    """Responds with ``status``, or by ``answer`` (a function of the request); records the requests."""

    def __init__(
        self,
        status: int = 204,
        headers: Mapping[str, str] | None = None,
        answer: Callable[[Any, threading.Event], None] | None = None,
    ) -> None:
        self.status, self.headers, self.answer = status, headers or {}, answer
        self.got: list[tuple[str, dict[str, str], bytes]] = []
        self.over = threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
                if receiver.answer:
                    receiver.answer(self, receiver.over)
                    return
                self.send_response(receiver.status)
                for name, value in {"Content-Length": "0", **receiver.headers}.items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, *arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"

    @property
    def types(self) -> list[str]:
        """Return the event types received."""
        return [json.loads(body)["type"] for _, _, body in self.got]


@contextmanager
def receiving(**how: Any) -> Iterator[Receiver]:
    """Run a receiver for the duration of the block."""
    receiver = Receiver(**how)
    threading.Thread(target=receiver.server.serve_forever, args=[0.01], daemon=True).start()
    try:
        yield receiver
    finally:
        receiver.over.set()
        receiver.server.shutdown()
        receiver.server.server_close()


def a_webhook(url: str = "https://receiver.example/hook", **values: Any) -> Webhook:
    """Create a webhook and return its row. A loopback receiver needs ``allow_private``."""
    values = {"name": "pager", "allow_private": url.startswith("http:"), **values}
    return services.create_webhook(actor="alice", url=url, **values)[0]


def is_signed(secret: str, headers: Mapping[str, str], body: bytes) -> bool:
    """Return whether one of the signatures is valid for the secret, as specified."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = b".".join([headers["webhook-id"].encode(), headers["webhook-timestamp"].encode(), body])
    wanted = "v1," + base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
    return wanted in headers["webhook-signature"].split()


def send_due(notifier: WebhookSender | None = None, *, seconds: float = 5.0) -> None:
    """Send all due deliveries, until nothing is in progress or due."""
    notifier = notifier or WebhookSender()
    until = time.monotonic() + seconds
    notifier.turn()
    while notifier._busy and time.monotonic() < until:
        notifier.wait(0.2)
        notifier.turn()


def outcomes() -> list[tuple[str, str, int, int | None]]:
    """Return type, status, attempts and response of each delivery, in order of creation."""
    rows = Delivery.objects.select_related("notice").order_by("id")
    return [(row.notice.type, row.status, row.attempts, row.response_status) for row in rows]
