"""Server of one worker: accept connections, limit them, and drain them on shutdown."""

import asyncio
import logging
import math
import resource
import socket
import time
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from email.utils import formatdate
from functools import partial
from itertools import takewhile

from gatewall.server.connection import Application, AtOnceConnection, Connection
from gatewall.server.http1 import BoundsOf

logger = logging.getLogger(__name__)

MOST_CONNECTIONS = 4096
LEAVING_SECONDS = 1.0
"""How long connections that are kept are still read when the worker ends: whoever asks now is answered, and told."""
_TICK_SECONDS = 0.5
_READ_AT_ONCE = 65_536
_UNREAD_SECONDS = 1.0
"""How long a connection that has not asked yet may have done so without our having read it."""
_PAUSE_SECONDS = 0.1
_SILENT_SECONDS = 60.0
"""How long nothing more is said of connections that are not accepted."""
_OWN_DESCRIPTORS = 128
"""Left for files, logs and the socket that listens."""

Queue = OrderedDict[Connection, float]
"""Connections, and when they came; first those that go first."""


class Server:
    """The connections of one worker.

    Eviction order when full: a connection without a request within a second, then the one that has been idle
    longest, then another one without a request, the oldest first. A connection whose request is under way is never
    evicted; if all are, the server accepts nothing for a moment, because another worker may have room.
    """

    def __init__(self, listening: Sequence[socket.socket], bounds_of: BoundsOf, most: int) -> None:
        """``most`` connections at once, or fewer if the limit of open files says so."""
        self.bounds_of = bounds_of
        self.date = ""
        self.is_leaving = False
        # One for all: a fresh buffer of asyncio's size for each read costs more than the read.
        self.buffer = memoryview(bytearray(_READ_AT_ONCE))
        self._listening = listening
        self._most = most_connections(most)
        self._fresh: Queue = OrderedDict()
        self._served: Queue = OrderedDict()
        self._opening: set[asyncio.Task[object]] = set()
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._silent_until = 0.0
        self._none = asyncio.Event()

    def start(self) -> None:
        """Accept connections from now on."""
        self._tick()
        self._listen()

    @abstractmethod
    def _connect(self, peer: str) -> Connection:
        """Return what speaks with a peer that was accepted."""

    async def stop(self, seconds: float, lingering: float = LEAVING_SECONDS) -> None:
        """Accept no more, answer what is asked still, and return when all is closed; after this time close it.

        Connections that wait to be accepted were made for the proxy, which may have asked already: they are taken too.
        """
        end = self._loop.time() + seconds
        self.is_leaving = True
        self._deafen()
        for each in self._listening:
            while self._accept(each):
                pass
            each.close()
        self._look()
        await self._until_none(min(end, self._loop.time() + lingering))
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
        self._fresh[connection] = self._loop.time()

    def answered(self, connection: Connection) -> None:
        """Know that it was of use just now."""
        self._served[connection] = self._fresh.pop(connection, 0.0)
        self._served.move_to_end(connection)

    def ended(self, connection: Connection) -> None:
        """Know that it is of no use any more."""
        for queue in (self._fresh, self._served):
            if connection in queue:
                queue[connection] = -math.inf
                queue.move_to_end(connection, last=False)

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

    def _accept(self, listening: socket.socket) -> bool:
        """Take one, if there is any and room for it: the next is for another worker, or for the next turn."""
        there = len(self._fresh) + len(self._served) + len(self._opening)
        goes = self._least_missed() if there >= self._most else None
        if there >= self._most and not goes:
            self._pause("all that there is room for are in use")
            return False
        try:
            accepted, address = listening.accept()
        except (BlockingIOError, InterruptedError):
            return False
        except ConnectionAbortedError:
            return True
        except OSError as error:  # no descriptor, no memory
            self._pause(str(error))
            if goes := self._least_missed():
                goes.go()
            return False
        if goes:
            goes.go()
        accepted.setblocking(False)
        peer = address[0] if isinstance(address, tuple) else ""
        opening = self._loop.connect_accepted_socket(partial(self._connect, peer), accepted)
        task = self._loop.create_task(opening)
        self._opening.add(task)
        task.add_done_callback(self._opened)
        return True

    def _pause(self, why: str) -> None:
        """Accept nothing for a moment."""
        now = self._loop.time()
        if now >= self._silent_until:
            self._silent_until = now + _SILENT_SECONDS
            logger.warning("connections are not accepted for a moment: %s", why)
        self._deafen()
        self._loop.call_later(_PAUSE_SECONDS, self._listen)

    def _opened(self, task: "asyncio.Task[object]") -> None:
        self._opening.discard(task)
        if not task.cancelled():
            task.exception()  # it was gone before we had it
        self._look()

    def _least_missed(self) -> Connection | None:
        """Return the connection that is closed for another one, or None if all are needed."""
        fresh, served = self._fresh, self._served
        old = self._loop.time() - _UNREAD_SECONDS
        return (
            _first(takewhile(lambda each: fresh[each] <= old, fresh), lambda each: each.may_go)
            or _first(served, lambda each: each.is_idle)
            or _first(fresh, lambda each: each.may_go)
            or _first(served, lambda each: each.may_go)
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


def _first(queue: Iterable[Connection], may_go: Callable[[Connection], bool]) -> Connection | None:
    return next((each for each in queue if may_go(each)), None)


def most_connections(most: int) -> int:
    """Return how many connections fit into the limit of open files, at most so many."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return most if soft == resource.RLIM_INFINITY else min(most, max(16, soft - _OWN_DESCRIPTORS))


class AtOnceServer(Server):
    """A server whose application answers at once: it waits for nothing."""

    def __init__(
        self,
        application: Application,
        listening: Sequence[socket.socket],
        bounds_of: BoundsOf,
        most: int = MOST_CONNECTIONS,
    ) -> None:
        super().__init__(listening, bounds_of, most)
        self.application = application

    def _connect(self, peer: str) -> Connection:
        return AtOnceConnection(self, self._loop, peer)
