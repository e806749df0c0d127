"""No header of deploy/untrusted-headers.txt reaches the site or the gate from a visitor, however it is sent."""

import pytest

from tests.proxies.every.asking import AT_ONCE, FORGED, WEBSOCKET, forged, leaked, lines_of, raw, shake_hands
from tests.proxies.every.kinds import ENVOYS, UNTRUSTED
from tests.support.processes import request

BATCHES = [UNTRUSTED[first : first + AT_ONCE] for first in range(0, len(UNTRUSTED), AT_ONCE)]
IDENTITY = ("Remote-User", "Remote-Email", "Remote-Groups", "X-Gatewall-Subject-Kind", "X-Gatewall-Decision-Id")
OF_THE_CONNECTION = {"", "close", "keep-alive", "upgrade"}


@pytest.mark.parametrize("spell", [str, str.lower, str.upper], ids=["listed", "lower", "upper"])
def test_untrusted_header_of_a_visitor_does_not_arrive(stub, spell):
    assert leaked(stub, [spell(name) for name in UNTRUSTED]) == []


@pytest.mark.parametrize("letter", ["_", "."])
def test_untrusted_header_with_another_character_for_the_hyphen_does_not_arrive(stub, letter):
    names = [name for name in UNTRUSTED if "-" in name]

    assert leaked(stub, [name.replace("-", letter) for name in names]) == []
    assert leaked(stub, [name.replace("-", letter, 1) for name in names if name.count("-") > 1]) == []


@pytest.mark.parametrize("names", BATCHES, ids=range(len(BATCHES)))
def test_untrusted_header_in_a_trailer_is_no_header_and_does_not_arrive(stub, names):
    before = len(stub.site.requests)
    trailers = "".join(f"{name}: {FORGED}-{name}\r\n" for name in names).encode()
    lines = [*lines_of(stub.port, {}), b"Transfer-Encoding: chunked", b"Trailer: " + ", ".join(names).encode()]

    answer = raw(stub.port, b"POST / HTTP/1.1", lines, b"1\r\na\r\n0\r\n" + trailers + b"\r\n")

    arrived = len(stub.site.requests) - before
    assert (answer.status, arrived) in {(200, 1), (400, 0)}
    assert forged(stub.gate.last) + forged(stub.site.last) == []
    assert len(forged(stub.site.trailers)) == (len(names) if stub.kind == "HAProxy" else 0)


@pytest.mark.parametrize("names", BATCHES, ids=range(len(BATCHES)))
@pytest.mark.parametrize("socket", [{}, WEBSOCKET], ids=["request", "websocket"])
def test_identity_that_the_visitor_names_in_connection_arrives(stub, names, socket):
    before = len(stub.site.requests)
    listed = ", ".join(filter(None, (socket.get("Connection"), *IDENTITY, *names)))

    if socket:
        status, _ = shake_hands(stub.port, {"Connection": listed})
    else:
        status = request(stub.port, "/", {"Connection": listed}).status

    if status == 400:  # Envoy refuses requests that name forwarding headers
        assert (stub.kind in ENVOYS, len(stub.site.requests)) == (True, before)
    else:
        ((_, arrived),) = stub.site.requests[before:]
        assert {name: arrived[name] for name in IDENTITY} == {name: stub.gate.headers[name] for name in IDENTITY}
        words = {word.strip().lower() for word in (arrived["Connection"] or "").split(",")}
        assert words <= OF_THE_CONNECTION or (stub.kind == "Envoy Gateway" and socket)
