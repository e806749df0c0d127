"""A stand-in for the API of a container engine, on a Unix socket, that shows one running container with labels."""

import http.server
import json
import socketserver
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_ID = "0123456789ab"


def _container(labels: Mapping[str, str], port: int) -> dict[str, Any]:
    """Return a running container on loopback as the API describes it (Docker Engine API, ContainerInspect)."""
    return {
        "Id": _ID,
        "Name": "/site",
        "Names": ["/site"],
        "State": {"Status": "running", "Running": True},
        "HostConfig": {"NetworkMode": "bridge"},
        "Config": {"Labels": dict(labels)},
        "Labels": dict(labels),
        "NetworkSettings": {
            "Networks": {"bridge": {"NetworkID": "bridge", "IPAddress": "127.0.0.1"}},
            "Ports": {f"{port}/tcp": None},
        },
    }


@contextmanager
def container_engine(socket: Path, labels: Mapping[str, str], port: int) -> Iterator[None]:
    """Serve the API while the context lasts; no event ever comes."""
    found, stop = _container(labels, port), threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path.endswith("/events"):
                self.send_response(200)
                self.end_headers()
                self.wfile.flush()
                stop.wait(120)
                return
            answers = {"_ping": "OK", "version": {"ApiVersion": "1.47", "Version": "27.0"}}
            containers = {"containers/json": [{**found, "State": "running"}], f"containers/{_ID}/json": found}
            body = next((value for end, value in (answers | containers).items() if path.endswith(end)), None)
            self.send_response(404 if body is None else 200)
            self.send_header("Api-Version", "1.47")
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        do_HEAD = do_GET  # noqa: N815 - the name that http.server looks for

        def log_message(self, *_: Any) -> None:
            pass

        def address_string(self) -> str:
            return "unix"

    class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
        daemon_threads = True

    with Server(str(socket), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield
        finally:
            stop.set()
            server.shutdown()
