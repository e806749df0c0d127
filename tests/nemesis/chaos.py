"""A proxy for TCP that fails on demand: it stands before a store, and is the network between host and store."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from typing import Self

_PIECE = 65536


class Mode(StrEnum):
    """What the proxy does with bytes and with connections."""

    PASS = "pass"
    DELAY = "delay"
    HANG = "hang"
    """Connections are accepted and nothing passes; what was sent arrives later, as after a lost link."""
    ONE_WAY = "one-way"
    """Questions arrive and answers do not: what is committed meanwhile, nobody is told."""
    RESET = "reset"
    """Every connection is reset, and each new one."""


class ChaosProxy:
    """Listens on a loopback port of its own, in a thread of its own. Starts by passing everything on."""

    def __init__(self, target: int, *, delay_seconds: float = 0.2) -> None:
        self._target = target
        self._delay = delay_seconds
        self._mode = Mode.PASS
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._writers: set[asyncio.StreamWriter] = set()
        self._moves = asyncio.Event()
        self._server: asyncio.Server | None = None
        self.port = 0

    def __enter__(self) -> Self:
        self._thread.start()
        self._await(self._listen())
        return self

    def __exit__(self, *_: object) -> None:
        self._await(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @contextmanager
    def failing(self, mode: Mode) -> Iterator[None]:
        """Fail in this way until the end of the block. Who was told nothing is cut off then."""
        self._await(self._set(mode))
        try:
            yield
        finally:
            self._await(self._set(Mode.PASS, cut=mode is Mode.ONE_WAY))

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._meet, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        assert self._server is not None
        self._server.close()
        await self._set(Mode.RESET)
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _set(self, mode: Mode, *, cut: bool = False) -> None:
        self._mode = mode
        if cut or mode is Mode.RESET:
            for writer in list(self._writers):
                _reset(writer)
        self._moves.set()  # whoever waits looks again
        self._moves = asyncio.Event()

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._mode is Mode.RESET:
            _reset(writer)
            return
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:  # the store is away: so are we
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
        raise EOFError  # one end is gone: the other one goes, too

    def _await(self, work) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(30)


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close with a RST, as a firewall or a host that was switched off and on does."""
    with suppress(OSError):
        linger = (1).to_bytes(4, "little") + (0).to_bytes(4, "little")
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()
