"""A cache server with scripted answers, for behavior that a real server cannot show."""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from socket import SocketIO
from threading import Thread

PART = 1 << 30
"""Size of a read; after each full one the server pauses briefly."""
GREETING = b"%1\r\n$5\r\nproto\r\n:3\r\n"
Answer = Callable[[socket.socket, list[bytes]], None]


@contextmanager
def answering(answer: Answer, greeting: bytes = GREETING) -> Iterator[int]:
    """Start a server that answers by this function, called with each command and its client; yield the port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        Thread(target=_accept, args=(listening, answer, greeting), daemon=True).start()
        yield listening.getsockname()[1]
        with suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)


def _accept(listening: socket.socket, answer: Answer, greeting: bytes) -> None:
    with suppress(OSError):
        while True:
            connection, _ = listening.accept()
            Thread(target=_talk, args=(connection, answer, greeting), daemon=True).start()


def _talk(connection: socket.socket, answer: Answer, greeting: bytes) -> None:
    with connection, connection.makefile("rb", buffering=0) as file, suppress(OSError, ValueError):
        while words := _command(file):
            name = words[0].upper()
            if name in (b"HELLO", b"CLIENT", b"SELECT"):
                connection.sendall(greeting if name == b"HELLO" else b"+OK\r\n")
            else:
                answer(connection, words)


def _command(file: SocketIO) -> list[bytes]:
    line = file.readline()
    return [_word(file) for _ in range(int(line[1:]))] if line else []


def _word(file: SocketIO) -> bytes:
    left, found = int(file.readline()[1:]) + 2, []
    while left and (part := file.read(min(left, PART))):
        found.append(part)
        left -= len(part)
        if len(part) == PART:
            time.sleep(0.005)
    return b"".join(found)[:-2]
