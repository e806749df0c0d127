"""No proxy lets a request in unless the gate answers 200: other statuses, no answer, late or partial answers."""

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress

import pytest

from gatewall.install.ports import free_port
from tests.proxies.every.asking import SITE
from tests.proxies.every.conftest import IDENTITY, Fronts
from tests.proxies.every.kinds import KINDS, Behind
from tests.support.processes import BROWSER, data_plane, make_keys, request

ODD_ANSWERS = {
    "nothing": b"",
    "no HTTP": b"SSH-2.0-OpenSSH_9.9\r\n",
    "half a head": b"HTTP/1.1 200 OK\r\nRemote-User: ad",
    "no number": b"HTTP/1.1 yes OK\r\n\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\n",
    "only 100": b"HTTP/1.1 100 Continue\r\n\r\n",
}


def test_200_lets_in(stub):
    answer = request(stub.port, "/", BROWSER)

    assert (answer.status, answer.body) == (200, SITE)


@pytest.mark.parametrize("status", [201, 202, 203, 204, 206, 226])
def test_other_2xx_does_not_let_in(stub, status):
    stub.gate.status = status
    before = len(stub.site.requests)

    answer = request(stub.port, "/", BROWSER)

    assert (len(stub.site.requests), answer.status != 200) == (before, True)


@pytest.mark.parametrize("status", [301, 302, 303, 304, 307, 400, 401, 403, 404, 407, 418, 429, 500, 502, 503, 599])
def test_other_status_does_not_let_in(stub, status):
    stub.gate.status = status
    before = len(stub.site.requests)

    answer = request(stub.port, "/", BROWSER)

    assert len(stub.site.requests) == before
    assert answer.status >= 300


@contextmanager
def answering(port, data):
    """Run a server that sends these bytes after each request, and closes the connection."""
    with socket.create_server(("127.0.0.1", port)) as server:
        thread = threading.Thread(target=_serve, args=(server, data))
        thread.start()
        try:
            yield
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


def _serve(server, data):
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        with connection, suppress(ConnectionError):
            connection.recv(65_536)
            connection.sendall(data)


@pytest.fixture(scope="module")
def gone(tmp_path_factory, stubs):
    """Return proxies whose gate is down, and the port where it was."""
    port = free_port()
    with ExitStack() as stack:
        yield port, Fronts(stack, tmp_path_factory, Behind(port, stubs.gate.port, stubs.site.port), stubs.site)


@pytest.mark.parametrize("kind", KINDS)
def test_gate_that_is_down_lets_nobody_in(kind, gone):
    front = gone[1][kind]
    before = len(front.site.requests)

    answer = request(front.port, "/", BROWSER)

    assert (answer.status // 100, len(front.site.requests)) == (5, before)


@pytest.mark.parametrize("data", ODD_ANSWERS.values(), ids=ODD_ANSWERS)
@pytest.mark.parametrize("kind", KINDS)
def test_invalid_answer_of_the_gate_lets_nobody_in(kind, gone, data):
    port, fronts = gone
    front = fronts[kind]
    before = len(front.site.requests)
    with answering(port, data):
        answer = request(front.port, "/", BROWSER)

    assert (answer.status // 100, len(front.site.requests)) == (5, before)


@pytest.fixture(scope="module")
def late(gone):
    """Return each proxy's answer while the gate accepts subrequests and never answers, and the site's requests."""
    port, fronts = gone
    ports = {kind: fronts[kind].port for kind in KINDS}
    before = len(fronts.site.requests)
    with socket.create_server(("127.0.0.1", port)), ThreadPoolExecutor(len(ports)) as pool:
        given = dict(zip(ports, pool.map(lambda port: request(port, "/", BROWSER), ports.values()), strict=True))
    return given, len(fronts.site.requests) - before


@pytest.mark.parametrize("kind", KINDS)
def test_gate_that_is_slow_lets_nobody_in(kind, late):
    given, arrived = late

    assert (given[kind].status // 100, arrived) == (5, 0)


@pytest.fixture(scope="module")
def undecided(tmp_path_factory, stubs):
    """Return proxies before a real data plane that has no policy."""
    home, port = tmp_path_factory.mktemp("blank"), free_port()
    make_keys(home)
    with data_plane(home, port, path="/health/live", GATEWALL_WORKERS="1"), ExitStack() as stack:
        yield Fronts(stack, tmp_path_factory, Behind(port, stubs.gate.port, stubs.site.port), stubs.site)


@pytest.mark.parametrize("kind", KINDS)
def test_browser_is_asked_to_try_again_if_the_gate_cannot_decide(kind, undecided):
    front = undecided[kind]
    before = len(front.site.requests)

    answer = request(front.port, "/", BROWSER)

    assert (answer.status, len(front.site.requests)) == (503, before)
    if kind == "Envoy Gateway":
        assert answer.body == b""
        return
    assert answer.header("Retry-After") == "1"
    assert b"again" in answer.body
    if kind == "Envoy":
        assert answer.header("Content-Type") == "text/plain"
    else:
        number = answer.header("X-Gatewall-Decision-Id")
        assert number
        assert f"<code>{number}</code>" in answer.body.decode()
        assert answer.header("Content-Type") == "text/html; charset=utf-8"
        assert "default-src 'none'" in answer.header("Content-Security-Policy")


@pytest.mark.parametrize("kind", KINDS)
def test_program_gets_503_and_no_page_if_the_gate_cannot_decide(kind, undecided):
    answer = request(undecided[kind].port, "/")

    again = "" if kind == "Envoy Gateway" else "1"
    assert (answer.status, answer.header("Retry-After"), b"<" in answer.body) == (503, again, False)


@pytest.mark.parametrize("name", ["Remote-User", "Remote-Email", "Remote-Groups", "X-Gatewall-Subject-Kind"])
def test_identity_header_that_the_gate_omits_does_not_arrive(stub, name):
    stub.gate.headers = {other: value for other, value in IDENTITY.items() if other != name}

    request(stub.port, "/", {name: "root"})

    assert not stub.site.last[name]


def test_headers_sent_by_neither_the_visitor_nor_the_gate_do_not_arrive(stub):
    stub.gate.headers = {}

    answer = request(stub.port, "/")

    sent = {"Cookie", "Authorization", *IDENTITY, "Service-Authorization"}
    assert {name: stub.site.last[name] for name in sent if stub.site.last[name]} == {}
    assert "{" not in f"{stub.site.last}{answer.headers}"
