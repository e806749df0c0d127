"""The WAF behind real servers: its engine, and bodies with wrong lengths, slow bodies and large ones."""

import http.client
import json
import socket
import time
from contextlib import suppress

import pytest

from gatewall.engine.waf.vector import AVAILABLE
from gatewall.gate import bodies
from gatewall.install.ports import free_port
from gatewall.snapshot.pattern_cache import NO_ENGINE
from tests.support.processes import PATIENCE, agent, api, control_plane, data_plane, prepare, request, wait_until
from tests.support.servers import ATTACK, about, ask

CLIENT = "198.51.100.9"
ATTACK_FORM = b"a=1%27%20UNION%20SELECT%20password%20FROM%20users--"
LET_IN, REFUSED = (200, "client-allowed"), (403, "waf-rule")
HEADERS = {**about(client=CLIENT), "Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture(scope="module")
def ports(tmp_path_factory):
    home, control, data = tmp_path_factory.mktemp("home"), free_port(), free_port()
    prepare(home)
    with agent(home), control_plane(home, control, GATEWALL_WORKERS="1"), data_plane(home, data, GATEWALL_WORKERS="1"):
        api(control, "/ip-white-list", ip=CLIENT, inspect=True)
        wait_until(lambda: ask(data, about(client=CLIENT, uri=ATTACK)) == REFUSED, what="the policy")
        yield {"control": control, "data": data}


@pytest.fixture(params=["control", "data"])
def port(ports, request):
    return ports[request.param]


@pytest.fixture
def connection(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    yield connection
    connection.close()


def asked(connection, body, **headers):
    """Send a subrequest with a body: bytes with their length, anything else in chunks.

    A server may answer and close before it has read all (RFC 9112, 9.5): then the answer is there to be read.
    """
    with suppress(BrokenPipeError, ConnectionResetError):
        connection.request("GET", "/wall/auth/forward", body, HEADERS | headers, encode_chunked=True)
    response = connection.getresponse()
    response.read()
    return response.status, response.headers.get("X-Gatewall-Reason", "")


def test_a_body_with_a_length_or_in_chunks_is_inspected(connection):
    chunked = {"Transfer-Encoding": "chunked"}

    assert asked(connection, b"a=1&b=2") == LET_IN
    assert asked(connection, ATTACK_FORM) == REFUSED
    assert asked(connection, iter([b"a=1", b"&b=2"]), **chunked) == LET_IN
    assert asked(connection, iter([ATTACK_FORM[:9], ATTACK_FORM[9:]]), **chunked) == REFUSED
    assert asked(connection, iter([]), **chunked) == LET_IN
    assert asked(connection, b"a=1") == LET_IN


@pytest.mark.parametrize("framing", ["a length", "chunks"])
def test_a_large_body_is_refused_because_its_end_is_not_inspected(port, framing):
    for _ in range(2):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        body = b"a=" + b"x" * 1_000_000
        given = (
            asked(connection, body)
            if framing == "a length"
            else asked(connection, iter([body[:300_000], body[300_000:]]), **{"Transfer-Encoding": "chunked"})
        )
        connection.close()
        assert given == REFUSED


def on_the_wire(port, *lines):
    """Open a connection and send the headers of a subrequest about a form."""
    wire = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
    head = ["GET /wall/auth/forward HTTP/1.1", "Host: gate", *[f"{name}: {value}" for name, value in HEADERS.items()]]
    wire.sendall("\r\n".join([*head, *lines, "", ""]).encode())
    return wire


def answered(wire):
    response = http.client.HTTPResponse(wire)
    response.begin()
    return response.status, response.headers.get("X-Gatewall-Reason", "")


@pytest.mark.parametrize(
    ("line", "sent"),
    [("Content-Length: 500", b"a=1"), ("Transfer-Encoding: chunked", b"3\r\na=1\r\n"), ("Content-Length: 9", b"")],
)
def test_a_missing_body_is_refused_after_its_deadline(port, line, sent):
    with on_the_wire(port, line) as wire:
        wire.sendall(sent)
        began = time.monotonic()
        assert answered(wire) == REFUSED
        assert time.monotonic() - began < bodies.SECONDS + 10
    with on_the_wire(port, "Content-Length: 3") as wire:
        wire.sendall(b"a=1")
        assert answered(wire) == LET_IN


def test_a_body_that_arrives_slowly_is_refused_after_its_deadline(port):
    with on_the_wire(port, "Content-Length: 60000") as wire:
        began = time.monotonic()
        wire.settimeout(0.2)
        while time.monotonic() - began < bodies.SECONDS + 10:
            wire.sendall(b"x")
            try:
                assert wire.recv(12, socket.MSG_PEEK)
            except TimeoutError:
                continue
            break
        wire.settimeout(PATIENCE)
        assert answered(wire) == REFUSED


def test_other_requests_are_answered_while_a_body_arrives_slowly(port):
    with on_the_wire(port, "Content-Length: 60000") as wire:
        wire.sendall(b"x")
        began = time.monotonic()
        assert ask(port, about(client=CLIENT)) == LET_IN
        assert time.monotonic() - began < bodies.SECONDS
        assert answered(wire) == REFUSED


@pytest.mark.parametrize("line", ["Content-Length: 9", "Transfer-Encoding: chunked"])
def test_a_connection_closed_within_a_body_does_not_harm_the_server(port, line):
    with on_the_wire(port, line) as wire:
        wire.sendall(b"3\r\na")
    assert ask(port, about(client=CLIENT)) == LET_IN


def test_invalid_chunks_let_nobody_in(port):
    with on_the_wire(port, "Transfer-Encoding: chunked") as wire:
        wire.sendall(b"zz\r\na=1\r\n0\r\n\r\n")
        status = wire.recv(12)
    assert status == b"" or status.split()[1] in {b"400", b"403", b"500"}
    assert ask(port, about(client=CLIENT)) == LET_IN


def test_both_planes_report_hyperscan_after_a_while(port):
    def checks():
        return json.loads(request(port, "/wall/health").body)["checks"]

    well = {"waf": "ok", "waf_engine": "hyperscan"} if AVAILABLE else {"waf": NO_ENGINE, "waf_engine": "re2"}
    wait_until(lambda: well.items() <= checks().items(), what=f"{well} in place of {checks()}")
