"""TCP proxy that fails on demand, between a host and a store.

A process of its own, so that the load of the visitors does not slow it down.
"""

import asyncio
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from typing import Self

from tests.support.processes import BASE

_PIECE = 65536


class Mode(StrEnum):
    """What the proxy does with bytes and connections."""

    PASS = "pass"
    DELAY = "delay"
    HANG = "hang"
    """Connections are accepted, bytes are held back and delivered later, as after a link failure."""
    ONE_WAY = "one-way"
    """Requests are delivered, responses are not: commits succeed without confirmation."""
    RESET = "reset"
    """Every connection is reset, also new ones."""


class ChaosProxy:
    """A proxy on a port of its own; forwards everything at first."""

    def __init__(self, target: int, *, address: str = "127.0.0.1", delay_seconds: float = 0.2) -> None:
        self._command = [sys.executable, "-m", "tests.nemesis.chaos", str(target), address, str(delay_seconds)]
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self.port = 0

    def __enter__(self) -> Self:
        # A session of its own: with autogrouping by session, its CPU share is that of an idle group.
        self._process = subprocess.Popen(
            self._command, cwd=BASE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        self.port = int(self._said())
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        self._process.communicate()

    @contextmanager
    def failing(self, mode: Mode) -> Iterator[None]:
        """Fail in this mode during the block; clients without a response are then disconnected."""
        self._set(mode)
        try:
            yield
        finally:
            self._set(Mode.PASS)

    def _set(self, mode: Mode) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        with self._lock:
            self._process.stdin.write(f"{mode}\n")
            self._process.stdin.flush()
            assert self._said() == mode

    def _said(self) -> str:
        assert self._process is not None
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


class _Proxy:
    """The proxy's event loop."""

    def __init__(self, target: int, delay: float) -> None:
        self._target = target
        self._delay = delay
        self._mode = Mode.PASS
        self._writers: set[asyncio.StreamWriter] = set()
        self._moves = asyncio.Event()

    async def run(self, address: str) -> None:
        """Print the port, then set the mode of each input line until the end of input."""
        server = await asyncio.start_server(self._meet, address, 0)
        _say(str(server.sockets[0].getsockname()[1]))
        lines = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
        while line := await lines.readline():
            mode = Mode(line.decode().strip())
            await self._set(mode, cut=self._mode is Mode.ONE_WAY)
            _say(mode)
        os._exit(0)

    async def _set(self, mode: Mode, *, cut: bool = False) -> None:
        self._mode = mode
        if cut or mode is Mode.RESET:
            for writer in list(self._writers):
                _reset(writer)
        self._moves.set()  # wake all waiting tasks
        self._moves = asyncio.Event()

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._mode is Mode.RESET:
            _reset(writer)
            return
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:  # the store is not reachable
            _reset(writer)
            return
        both = {writer, far_writer}
        self._writers |= both
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._carry(reader, far_writer, back=False))
                group.create_task(self._carry(far_reader, writer, back=True))
        except* (OSError, EOFError):
            pass
        finally:
            self._writers -= both
            for end in both:
                end.close()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, back: bool) -> None:
        while data := await reader.read(_PIECE):
            if self._mode is Mode.DELAY:
                await asyncio.sleep(self._delay)
            while self._mode is Mode.HANG or (back and self._mode is Mode.ONE_WAY):
                await self._moves.wait()
            writer.write(data)
            await writer.drain()
        raise EOFError  # close both directions


def _say(words: str) -> None:
    sys.stdout.write(words + "\n")
    sys.stdout.flush()


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close with a RST, like a firewall or a restarted host."""
    with suppress(OSError):
        linger = (1).to_bytes(4, "little") + (0).to_bytes(4, "little")
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()


if __name__ == "__main__":
    asyncio.run(_Proxy(int(sys.argv[1]), float(sys.argv[3])).run(sys.argv[2]))
