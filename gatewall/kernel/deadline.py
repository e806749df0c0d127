"""Deadline of a network exchange: connect within it, and shut down its connections when it expires. Pure."""

import socket
import time
from collections.abc import Iterable
from contextlib import suppress
from threading import Timer


class Deadline:
    """Shuts down the connections of an exchange on timeout: a slow server may send single bytes forever."""

    def __init__(self, seconds: float) -> None:
        self._ends = time.monotonic() + seconds
        self._watched: list[tuple[Timer, socket.socket]] = []

    def watch(self, connection: socket.socket) -> None:
        """Shut down this connection on timeout, through a duplicate that remains valid when TLS wraps the socket."""
        duplicate = connection.dup()
        timer = Timer(max(0.0, self.left), _shut, [duplicate])
        timer.daemon = True
        timer.start()
        self._watched.append((timer, duplicate))

    def connect(self, addresses: Iterable[str], port: int) -> socket.socket:
        """Return a watched connection to the first address that accepts one. Raises OSError."""
        failure: OSError = TimeoutError()
        for address in addresses:
            if self.left <= 0:
                break
            try:
                connection = socket.create_connection((address, port), self.left)
            except OSError as error:
                failure = error
                continue
            self.watch(connection)
            return connection
        raise failure

    @property
    def left(self) -> float:
        """Seconds left; zero or negative on timeout."""
        return self._ends - time.monotonic()

    def cancel(self) -> None:
        for timer, duplicate in self._watched:
            timer.cancel()
            timer.join()
            duplicate.close()


def _shut(connection: socket.socket) -> None:
    with suppress(OSError):  # closed already
        connection.shutdown(socket.SHUT_RDWR)
