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
from gatewall.server.heads import Heads
from gatewall.server.http1 import BoundsOf

logger = logging.getLogger(__name__)

MOST_CONNECTIONS = 4096
LEAVING_SECONDS = 1.0
"""How long kept connections are still read on shutdown: a late request is answered, with ``connection: close``."""
_TICK_SECONDS, _IDLE_TICK_SECONDS = 0.5, 1.0
_READ_AT_ONCE = 65_536
_UNREAD_SECONDS = 1.0
"""How old a connection without a request must be before it is evicted: its request may not be read yet."""
_PAUSE_SECONDS = 0.1
_SILENT_SECONDS = 60.0
"""Minimum interval between two warnings that no connections are accepted."""
_OWN_DESCRIPTORS = 128
"""File descriptors reserved for files, logs and listening sockets."""

Queue = OrderedDict[Connection, float]
"""Connections and when they were opened, in the order of eviction."""


class Server:
    """The connections of one worker.

    Eviction order when full: a connection without a request within a second, then the one that has been idle
    longest, then another one without a request, the oldest first. A connection whose request is under way is never
    evicted; if all are in use, the server accepts nothing for a moment, because another worker may have room.
    """

    def __init__(self, listening: Sequence[socket.socket], bounds_of: BoundsOf, most: int) -> None:
        """``most`` connections at once, or fewer if the limit of open files requires it."""
        self.bounds_of = bounds_of
        self.date = ""
        self.is_leaving = False
        # One buffer for all connections: allocating one for each read costs more than the read.
        self.buffer = memoryview(bytearray(_READ_AT_ONCE))
        self._listening = listening
        self._most = most_connections(most)
        self._fresh: Queue = OrderedDict()
        self._served: Queue = OrderedDict()
        self._opening: set[asyncio.Task[object]] = set()
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._silent_until = 0.0
        self._drained = asyncio.Event()

    def start(self) -> None:
        """Start accepting connections."""
        self._tick()
        self._start_accepting()

    @abstractmethod
    def _connect(self, peer: str) -> Connection:
        """Build the connection for an accepted peer."""

    async def stop(self, seconds: float, lingering: float = LEAVING_SECONDS) -> None:
        """Stop accepting, drain, and return when all connections are closed, at the latest after ``seconds``.

        The backlog is accepted first: a proxy may have sent requests on those connections already.
        """
        end = self._loop.time() + seconds
        self.is_leaving = True
        self._stop_accepting()
        for each in self._listening:
            while self._accept(each):
                pass
            each.close()
        self._check_drained()
        await self._wait_drained(min(end, self._loop.time() + lingering))
        for connection in self._all():
            if connection.is_idle:
                connection.close()
        await self._wait_drained(end)
        for connection in self._all():
            connection.evict()
        if self._timer is not None:
            self._timer.cancel()

    async def _wait_drained(self, end: float) -> None:
        """Wait until all connections are closed or it is time ``end``."""
        with suppress(TimeoutError):
            async with asyncio.timeout_at(end):
                await self._drained.wait()

    # Called by the connections.

    def opened(self, connection: Connection) -> None:
        """Register a new connection."""
        self._fresh[connection] = self._loop.time()

    def answered(self, connection: Connection) -> None:
        """Record that the connection just answered a request."""
        self._served[connection] = self._fresh.pop(connection, 0.0)
        self._served.move_to_end(connection)

    def ended(self, connection: Connection) -> None:
        """Record that the connection is closing: first to be evicted."""
        for queue in (self._fresh, self._served):
            if connection in queue:
                queue[connection] = -math.inf
                queue.move_to_end(connection, last=False)

    def closed(self, connection: Connection) -> None:
        """Remove a closed connection."""
        self._fresh.pop(connection, None)
        self._served.pop(connection, None)
        self._check_drained()

    def _check_drained(self) -> None:
        if self.is_leaving and not (self._fresh or self._served or self._opening):
            self._drained.set()

    # New connections.

    def _start_accepting(self) -> None:
        if not self.is_leaving:
            for each in self._listening:
                self._loop.add_reader(each.fileno(), self._accept, each)

    def _stop_accepting(self) -> None:
        for each in self._listening:
            self._loop.remove_reader(each.fileno())

    def _accept(self, listening: socket.socket) -> bool:
        """Accept one connection, if one waits and there is room; True if another attempt makes sense."""
        there = len(self._fresh) + len(self._served) + len(self._opening)
        evicted = self._connection_to_evict() if there >= self._most else None
        if there >= self._most and not evicted:
            self._pause("all connections are in use")
            return False
        try:
            accepted, address = listening.accept()
        except (BlockingIOError, InterruptedError):
            return False
        except ConnectionAbortedError:
            return True
        except OSError as error:  # out of descriptors or memory
            self._pause(str(error))
            if evicted := self._connection_to_evict():
                evicted.evict()
            return False
        if evicted:
            evicted.evict()
        accepted.setblocking(False)
        peer = address[0] if isinstance(address, tuple) else ""
        opening = self._loop.connect_accepted_socket(partial(self._connect, peer), accepted)
        task = self._loop.create_task(opening)
        self._opening.add(task)
        task.add_done_callback(self._opened)
        return True

    def _pause(self, why: str) -> None:
        """Stop accepting for a moment."""
        now = self._loop.time()
        if now >= self._silent_until:
            self._silent_until = now + _SILENT_SECONDS
            logger.warning("new connections are paused: %s", why)
        self._stop_accepting()
        self._loop.call_later(_PAUSE_SECONDS, self._start_accepting)

    def _opened(self, task: "asyncio.Task[object]") -> None:
        self._opening.discard(task)
        if not task.cancelled():
            task.exception()  # the peer closed before the connection was set up
        self._check_drained()

    def _connection_to_evict(self) -> Connection | None:
        """Return the connection to evict, or None if all are in use."""
        fresh, served = self._fresh, self._served
        old = self._loop.time() - _UNREAD_SECONDS
        return (
            _first(takewhile(lambda each: fresh[each] <= old, fresh), lambda each: each.is_evictable)
            or _first(served, lambda each: each.is_idle)
            or _first(fresh, lambda each: each.is_evictable)
            or _first(served, lambda each: each.is_evictable)
        )

    # Time.

    def _tick(self) -> None:
        now = self._loop.time()
        self.date = f"date: {formatdate(time.time(), usegmt=True)}\n"
        for connection in self._all():
            if connection.deadline <= now:
                self._loop.call_later(0, connection.expire)  # after input that has arrived but is not read yet
        is_idle = not (self._fresh or self._served)
        self._timer = self._loop.call_later(_IDLE_TICK_SECONDS if is_idle else _TICK_SECONDS, self._tick)

    def _all(self) -> list[Connection]:
        return [*self._fresh, *self._served]


def _first(queue: Iterable[Connection], is_evictable: Callable[[Connection], bool]) -> Connection | None:
    return next((each for each in queue if is_evictable(each)), None)


def most_connections(most: int) -> int:
    """Return how many connections fit into the limit of open files, at most ``most``."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return most if soft == resource.RLIM_INFINITY else min(most, max(16, soft - _OWN_DESCRIPTORS))


class AtOnceServer(Server):
    """A server whose application answers synchronously."""

    def __init__(
        self,
        application: Application,
        listening: Sequence[socket.socket],
        bounds_of: BoundsOf,
        most: int = MOST_CONNECTIONS,
    ) -> None:
        super().__init__(listening, bounds_of, most)
        self.application = application
        self.heads = Heads()

    def _connect(self, peer: str) -> Connection:
        return AtOnceConnection(self, self._loop, peer)
