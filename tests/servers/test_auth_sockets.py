"""The data plane's server in this process, over real sockets: races that depend on the state of its loop."""

import asyncio
import socket
import struct

import pytest

from gatewall.gate import bodies
from gatewall.server.answer_bytes import Answer
from gatewall.server.server import AtOnceServer
from tests.support.wire import a_request, answers_in

RESET = struct.pack("ii", 1, 0)


class ServerContext:
    """A server, its listening socket, and the peers of its requests."""

    def __init__(self):
        self.peers = []
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.listening.setblocking(False)

    def application(self, _method, _target, _lines, peer, _scheme, _body, _head):
        self.peers.append(peer)
        return Answer(200, ())

    def connected(self):
        return socket.create_connection(self.listening.getsockname(), timeout=10)

    def serve(self, scene):
        """Run a coroutine with the running server."""

        async def run():
            server = AtOnceServer(self.application, [self.listening], bodies.bounds)
            server.start()
            await scene(server)
            await server.stop(1)

        asyncio.run(run())


@pytest.fixture
def context():
    context = ServerContext()
    with context.listening:
        yield context


async def until(condition):
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - what it waits for tells nobody
            await asyncio.sleep(0.01)


def test_a_peer_that_resets_its_connection_keeps_its_address(context):
    """The closed socket has no peer address, as over a unix socket, and such a peer would be trusted."""

    async def scene(_server):
        client = context.connected()
        client.sendall(a_request())
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        client.close()
        await until(lambda: context.peers)

    context.serve(scene)

    assert context.peers == ["127.0.0.1"]


def test_a_request_that_came_before_the_end_of_an_idle_connection_is_answered(context):
    async def scene(server):
        client = context.connected()
        client.sendall(a_request())
        await until(lambda: context.peers)
        assert client.recv(1000)
        for connection in server._all():
            connection.deadline = 0.0
        client.sendall(a_request())
        server._tick()
        await asyncio.sleep(0.1)
        assert [each.status for each in answers_in(client.recv(1000))] == [200]
        client.close()

    context.serve(scene)

    assert len(context.peers) == 2
