"""A connection of the data plane: every request is answered once, in order."""

import pytest

from gatewall.gate import bodies
from gatewall.server.answer_bytes import Answer
from gatewall.server.http1 import Body
from tests.support.wire import a_request
from tests.unit.proxy_ends import Proxy


@pytest.fixture
def proxy():
    return Proxy()


def test_an_answer_is_written_at_once_and_the_connection_stays_open(proxy):
    proxy.send(a_request())

    assert proxy.context.asked == [("GET", b"/wall/auth", "192.0.2.1", "http", None)]
    assert proxy.transport.sent == b"HTTP/1.1 200 OK\r\nX-A: 1\r\ndate: today\r\ncontent-length: 0\r\n\r\n"
    assert not proxy.transport.closed
    assert proxy.connection.is_idle


def test_the_peer_of_a_unix_socket_is_empty():
    proxy = Proxy(peer="")

    proxy.send(a_request())

    assert proxy.context.asked[0][2] == ""


@pytest.mark.parametrize(("method", "shown"), [("GET", b"page"), ("HEAD", b"")])
def test_the_answer_to_head_has_the_length_but_no_body(method, shown):
    proxy = Proxy(Answer(403, (), b"page"))

    proxy.send(a_request(method=method))

    assert proxy.transport.sent.partition(b"\r\n\r\n")[2] == shown
    assert b"\r\ncontent-length: 4\r\n" in proxy.transport.sent


def test_pipelined_requests_are_answered_one_per_turn(proxy):
    proxy.send(a_request() * 3 + a_request()[:-2])

    assert proxy.statuses == [200]
    assert not proxy.transport.reads
    proxy.context.turn()
    assert proxy.statuses == [200] * 2
    proxy.context.turn()
    assert proxy.statuses == [200] * 3
    proxy.context.turn()
    assert proxy.transport.reads
    proxy.send(b"\r\n")
    assert proxy.statuses == [200] * 4


def test_reading_resumes_after_all_answers_are_sent(proxy):
    proxy.send(a_request() * 3)
    proxy.turns()

    assert proxy.statuses == [200] * 3
    assert proxy.transport.reads


def test_a_client_that_asked_to_close_is_closed_after_its_answer(proxy):
    proxy.send(a_request("Connection: close"))

    assert (proxy.statuses, proxy.transport.closed, proxy.transport.aborted) == ([200], True, False)
    assert b"connection: close\r\n" in proxy.transport.sent


def test_bytes_after_the_last_request_are_read_but_not_answered(proxy):
    proxy.send(a_request("Connection: close") + a_request(), a_request(), b"\0")
    proxy.turns()

    assert (proxy.statuses, len(proxy.context.asked)) == ([200], 1)
    assert (proxy.transport.half_closed, proxy.transport.closed, proxy.transport.reads) == (True, False, True)
    assert not proxy.connection.eof_received()  # which closes


def test_a_malformed_request_is_refused_and_the_connection_ends(proxy):
    proxy.send(a_request() + b"GET\r\n\r\n" + a_request())
    proxy.turns()

    assert proxy.statuses == [200, 400]
    assert proxy.transport.half_closed
    assert len(proxy.context.asked) == 1


@pytest.mark.parametrize("rest", [b"garbage", b"\r\n\0", a_request()])
@pytest.mark.parametrize("framing", ["Content-Length: 9000000", "Transfer-Encoding: chunked"])
def test_a_request_that_was_answered_before_its_end_gets_no_second_answer(proxy, framing, rest):
    body = b"a" * bodies.READ_AT_MOST
    head = a_request(framing)

    proxy.send(head, (b"ffffff\r\n" if "chunked" in framing else b"") + body)
    proxy.send(b"a" * 1000, b"\r\nzz\r\n", rest)
    proxy.turns()
    proxy.wait(1)

    assert proxy.statuses == [200]
    assert proxy.context.asked[0][4] == Body(body, ended=False)
    assert proxy.transport.half_closed
    assert not proxy.transport.closed


def test_chunks_that_break_before_the_answer_are_refused_once(proxy):
    proxy.send(a_request("Transfer-Encoding: chunked"), b"3\r\nabc", b"d\r\n", b"0\r\n\r\n", a_request())
    proxy.turns()

    assert (proxy.statuses, proxy.context.asked) == ([400], [])
