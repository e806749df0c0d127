"""A connection of the data plane with a transport that records every call."""

import asyncio
from typing import Any

from gatewall.gate import bodies
from gatewall.server.answer_bytes import Answer
from gatewall.server.connection import AtOnceConnection
from gatewall.server.heads import Heads
from tests.support.wire import answers_in, split

OK = Answer(200, (("X-A", "1"),))


class Transport(asyncio.Transport):
    """The other end: the bytes it was sent, and what the connection did."""

    def __init__(self, blocks_at=None):
        super().__init__()
        self.blocks_at = blocks_at
        self.connection: Any = None
        self.sent = b""
        self.reads = True
        self.half_closed = self.closed = self.aborted = False

    def write(self, data):
        assert not self.half_closed
        assert not self.closed
        self.sent += data
        if data == self.blocks_at:
            self.connection.pause_writing()

    def write_eof(self):
        self.half_closed = True

    def close(self):
        self.closed = True

    def abort(self):
        self.closed = self.aborted = True

    def pause_reading(self):
        self.reads = False

    def resume_reading(self):
        self.reads = True


class ServerContext:
    """The server context of one connection, with its loop and clock."""

    bounds_of = staticmethod(bodies.bounds)

    def __init__(self, answer=OK):
        self.now = 1000.0
        self.date = "date: today\n"
        self.is_leaving = False
        self.buffer = memoryview(bytearray(65_536))
        self.answer = answer
        self.asked = []
        self.known = []
        self.heads = Heads()
        self._turns = []

    def application(self, method, target, lines, peer, scheme, body, head):
        self.asked.append((method, target, peer, scheme, body))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def opened(self, each):
        self.known.append("opened")

    def answered(self, each):
        self.known.append("answered")

    def ended(self, each):
        self.known.append("ended")

    def closed(self, each):
        self.known.append("closed")

    def time(self):
        return self.now

    def call_soon(self, call):
        handle = Handle(call)
        self._turns.append(handle)
        return handle

    def turn(self):
        """Run one turn of the loop; return whether there was anything to do."""
        turns, self._turns = self._turns, []
        for each in turns:
            if not each.cancelled:
                each.call()
        return bool(turns)


class Handle:
    def __init__(self, call):
        self.call, self.cancelled = call, False

    def cancel(self):
        self.cancelled = True


class Proxy:
    """A connection with its transport and server context."""

    def __init__(self, answer=OK, peer="192.0.2.1", **transport):
        self.context, self.transport = ServerContext(answer), Transport(**transport)
        stands_for: Any = self.context  # for the context of the server, and for its loop
        self.transport.connection = self.connection = AtOnceConnection(stands_for, stands_for, peer)
        self.connection.connection_made(self.transport)

    def send(self, *pieces):
        for piece in pieces:
            for data in split(piece, range(0, len(piece), 65_536)):
                if not self.transport.closed:
                    self.connection.get_buffer(-1)[: len(data)] = data
                    self.connection.buffer_updated(len(data))

    def wait(self, seconds):
        self.context.now += seconds
        self.connection.expire()

    def turns(self):
        while self.context.turn():
            pass

    @property
    def statuses(self):
        return [each.status for each in answers_in(self.transport.sent)]
