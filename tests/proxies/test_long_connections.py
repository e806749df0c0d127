"""With `--max-connection-seconds` a proxy ends a WebSocket, and Envoy a download, that the site would keep open."""

import re
import socket
import threading
from contextlib import contextmanager, suppress

import pytest

from gatewall.proxy_config.rendering import LIMITS_CONNECTIONS, Place, render
from tests.proxies.every import kinds
from tests.proxies.every.asking import WEBSOCKET, lines_of
from tests.proxies.every.kinds import KINDS, Behind
from tests.support.processes import PATIENCE
from tests.support.upstream import Upstream

UPGRADED = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
DOWNLOAD = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"
TOO_MUCH = 10_000
"""Bytes that the site sends in some minutes."""
LIMITS = re.compile("max_stream_duration|stream_timeout")
NAMES = {KINDS[name].name.lower(): name for name in ("Caddy", "Envoy")}


@contextmanager
def endless_site():
    """Provide the port of a site that begins each answer, sends a byte of it, and never ends it."""
    ended = threading.Event()

    def answer(connection):
        with connection, suppress(OSError):
            head = connection.recv(65536)
            connection.sendall((UPGRADED if b"websocket" in head.lower() else DOWNLOAD) + b"x")
            while not ended.wait(0.05):
                connection.sendall(b"x")

    def serve():
        with suppress(OSError):
            while True:
                threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        ended.set()
        listener.shutdown(socket.SHUT_RDWR)


@contextmanager
def limited(kind, folder, monkeypatch, site, gate):
    """Provide the port of a proxy with the configuration for one second."""
    for file in render(kind, Place(max_connection_seconds=1)):
        path = folder / "deploy" / kind / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8")
    monkeypatch.setattr(kinds, "DEPLOY", folder / "deploy")
    (folder / "proxy").mkdir()
    with KINDS[NAMES[kind]].start(folder / "proxy", Behind(gate.port, gate.port, site)) as port:
        yield port


def read_to_the_end(port, headers):
    """Return the first line of the answer, and all of it when the proxy has ended it; fail after some minutes."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
        connection.sendall(b"\r\n".join([b"GET /file HTTP/1.1", *lines_of(port, headers), b"", b""]))
        received = b""
        with suppress(ConnectionError):
            while part := connection.recv(65536):
                received += part
                assert len(received) < TOO_MUCH
    return received.partition(b"\r\n")[0], received


@pytest.mark.parametrize("kind", sorted(LIMITS_CONNECTIONS))
def test_busy_connections_end_at_the_limit(tmp_path, monkeypatch, kind):
    with endless_site() as site, Upstream() as gate, limited(kind, tmp_path, monkeypatch, site, gate) as port:
        line, received = read_to_the_end(port, WEBSOCKET)
        assert line == b"HTTP/1.1 101 Switching Protocols"
        assert received.endswith(b"x")
        if kind == "envoy":  # Caddy has no limit for downloads
            line, received = read_to_the_end(port, {})
            assert line == b"HTTP/1.1 200 OK"
            assert received.endswith(b"x")


def test_the_proxies_with_the_option_are_complete():
    assert set(NAMES) == LIMITS_CONNECTIONS


@pytest.mark.parametrize("kind", sorted(LIMITS_CONNECTIONS))
def test_no_sample_has_a_limit_without_the_option(kind):
    assert not [file for file in render(kind, Place()) if LIMITS.search(file.text)]
