"""A stand-in for the API of a container engine, on a Unix socket, that shows running containers with labels."""

import http.server
import json
import socketserver
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Container:
    """A running container: its labels, the ports of its image, and its address in each network."""

    name: str
    labels: Mapping[str, str]
    ports: Sequence[int]
    addresses: Mapping[str, str] = field(default_factory=lambda: {"bridge": "127.0.0.1"})

    def shown(self) -> dict[str, Any]:
        """Return the container in the form of the Docker Engine API, ContainerInspect."""
        networks = {name: {"NetworkID": name, "IPAddress": address} for name, address in self.addresses.items()}
        return {
            "Id": self.name,
            "Name": f"/{self.name}",
            "Names": [f"/{self.name}"],
            "State": {"Status": "running", "Running": True},
            "HostConfig": {"NetworkMode": next(iter(networks))},
            "Config": {"Labels": dict(self.labels)},
            "Labels": dict(self.labels),
            "NetworkSettings": {"Networks": networks, "Ports": {f"{port}/tcp": None for port in self.ports}},
        }


@contextmanager
def container_engine(socket: Path, containers: Callable[[], Sequence[Container]]) -> Iterator[None]:
    """Serve the API within the context; it sends no events."""
    stop = threading.Event()

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
            found = {f"containers/{each.name}/json": each.shown() for each in containers()}
            listed = {"containers/json": [{**each, "State": "running"} for each in found.values()]}
            body = next((value for end, value in (answers | found | listed).items() if path.endswith(end)), None)
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
