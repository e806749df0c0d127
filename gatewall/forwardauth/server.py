"""The data plane's server in one worker: accepts connections, bounds them, and ends without dropping a request."""

import asyncio
import resource
import socket
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from email.utils import formatdate
from functools import partial

from gatewall.forwardauth.connection import Application, Connection

MOST_CONNECTIONS = 4096
LEAVING_SECONDS = 1.0
"""How long connections that are kept are still read when the worker ends: whoever asks now is answered, and told."""
_TICK_SECONDS = 0.5
_NO_DESCRIPTOR_SECONDS = 0.1
_READ_AT_ONCE = 65_536
_OWN_DESCRIPTORS = 128
"""Left for files, logs and the socket that listens."""

Queue = OrderedDict[Connection, None]


class AuthServer:
    """The connections of one worker.

    When there are too many, the one that is missed least goes: one that has never asked, the oldest
    first, then the one that has been idle longest. One whose request is under way never goes; if all
    are, the new one is turned away.
    """

    def __init__(self, application: Application, listening: Sequence[socket.socket], most: int | None = None) -> None:
        self.application = application
        self.date = ""
        self.is_leaving = False
        # One for all: a fresh buffer of asyncio's size for each read costs more than the read.
        self.buffer = memoryview(bytearray(_READ_AT_ONCE))
        self._listening = listening
        self._most = most if most is not None else _most_connections()
        self._fresh: Queue = OrderedDict()
        self._served: Queue = OrderedDict()
        self._opening: set[asyncio.Task[object]] = set()
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._none = asyncio.Event()

    def start(self) -> None:
        """Accept connections from now on."""
        self._tick()
        self._listen()

    async def stop(self, seconds: float) -> None:
        """Accept no more, answer what is asked still, and return when all is closed; after this time close it."""
        end = self._loop.time() + seconds
        self.is_leaving = True
        self._deafen()
        self._look()
        await self._until_none(min(end, self._loop.time() + LEAVING_SECONDS))
        for connection in self._all():
            if connection.is_idle:
                connection.leave()
        await self._until_none(end)
        for connection in self._all():
            connection.go()
        if self._timer is not None:
            self._timer.cancel()

    async def _until_none(self, end: float) -> None:
        """Wait until all connections are closed, at most until then."""
        with suppress(TimeoutError):
            async with asyncio.timeout_at(end):
                await self._none.wait()

    # What the connections say.

    def opened(self, connection: Connection) -> None:
        """Know the connection."""
        self._fresh[connection] = None

    def answered(self, connection: Connection) -> None:
        """Know that it was of use just now."""
        if connection in self._fresh:
            del self._fresh[connection]
        self._served[connection] = None
        self._served.move_to_end(connection)

    def ended(self, connection: Connection) -> None:
        """Know that it is of no use any more."""
        (self._fresh if connection in self._fresh else self._served).move_to_end(connection, last=False)

    def closed(self, connection: Connection) -> None:
        """Forget it."""
        self._fresh.pop(connection, None)
        self._served.pop(connection, None)
        self._look()

    def _look(self) -> None:
        if self.is_leaving and not (self._fresh or self._served or self._opening):
            self._none.set()

    # New connections.

    def _listen(self) -> None:
        if not self.is_leaving:
            for each in self._listening:
                self._loop.add_reader(each.fileno(), self._accept, each)

    def _deafen(self) -> None:
        for each in self._listening:
            self._loop.remove_reader(each.fileno())

    def _accept(self, listening: socket.socket) -> None:
        """Take one: the next is for another worker, or for the next turn."""
        try:
            accepted, address = listening.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError:  # no descriptor, no memory
            self._make_room()
            self._deafen()
            self._loop.call_later(_NO_DESCRIPTOR_SECONDS, self._listen)
            return
        there = len(self._fresh) + len(self._served) + len(self._opening)
        if there >= self._most and not self._make_room():
            accepted.close()
            return
        accepted.setblocking(False)
        peer = address[0] if isinstance(address, tuple) else ""
        opening = self._loop.connect_accepted_socket(partial(Connection, self, self._loop, peer), accepted)
        task = self._loop.create_task(opening)
        self._opening.add(task)
        task.add_done_callback(self._opened)

    def _opened(self, task: "asyncio.Task[object]") -> None:
        self._opening.discard(task)
        if not task.cancelled():
            task.exception()  # it was gone before we had it
        self._look()

    def _make_room(self) -> bool:
        """Close the connection that is missed least; False if all are needed."""
        return (
            _first_goes(self._fresh, lambda each: each.may_go)
            or _first_goes(self._served, lambda each: each.is_idle)
            or _first_goes(self._served, lambda each: each.may_go)
        )

    # Time.

    def _tick(self) -> None:
        now = self._loop.time()
        self.date = f"date: {formatdate(time.time(), usegmt=True)}\n"
        for connection in self._all():
            if connection.deadline <= now:
                self._loop.call_later(0, connection.expire)  # behind what has come meanwhile and is not read yet
        self._timer = self._loop.call_later(_TICK_SECONDS, self._tick)

    def _all(self) -> list[Connection]:
        return [*self._fresh, *self._served]


def _first_goes(queue: Queue, may_go: Callable[[Connection], bool]) -> bool:
    for connection in queue:
        if may_go(connection):
            connection.go()
            return True
    return False


def _most_connections() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return (
        MOST_CONNECTIONS if soft == resource.RLIM_INFINITY else max(16, min(MOST_CONNECTIONS, soft - _OWN_DESCRIPTORS))
    )
