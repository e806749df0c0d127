"""Timeouts of a connection of the data plane, and how it closes."""

import pytest

from gatewall.gate import bodies
from gatewall.server import connection
from gatewall.server.answer_bytes import CONTINUE, Answer
from gatewall.server.http1 import Body
from tests.support.wire import a_request
from tests.unit.proxy_ends import Proxy


@pytest.fixture
def proxy():
    return Proxy()


def test_a_request_with_a_late_body_is_answered_by_the_part_received(proxy):
    proxy.send(a_request("Content-Length: 9", body=b"abc"))
    proxy.wait(bodies.SECONDS - 0.1)
    assert proxy.statuses == []
    proxy.wait(0.1)

    assert proxy.statuses == [200]
    assert proxy.context.asked[0][4] == Body(b"abc", ended=False)
    proxy.send(b"defghi" + a_request())
    assert proxy.statuses == [200]


def test_a_client_that_expects_100_continue_gets_it_once(proxy):
    proxy.send(a_request("Expect: 100-continue", "Content-Length: 3"))
    assert proxy.statuses == [100]
    proxy.send(b"ab", b"c")

    assert proxy.statuses == [100, 200]


def test_a_body_that_came_with_its_head_needs_no_100_continue(proxy):
    proxy.send(a_request("Expect: 100-continue", "Content-Length: 3", body=b"abc"))

    assert proxy.statuses == [200]


def test_the_timeout_of_a_head_starts_at_its_first_byte(proxy):
    proxy.wait(30)
    proxy.send(b"GET ")
    for _ in range(9):
        proxy.wait(1)
        proxy.send(b"/")
    assert proxy.statuses == []
    proxy.wait(1)

    assert proxy.statuses == [408]
    assert proxy.transport.half_closed


def test_an_idle_connection_is_closed_without_an_answer(proxy):
    proxy.send(a_request())
    proxy.wait(connection.IDLE_SECONDS - 0.1)
    assert not proxy.transport.closed
    proxy.wait(0.1)

    assert (proxy.statuses, proxy.transport.closed) == ([200], True)


def test_a_client_that_does_not_read_is_not_read_from_and_times_out(proxy):
    proxy.send(a_request() * 3)
    proxy.connection.pause_writing()
    proxy.turns()
    asked = len(proxy.context.asked)
    assert not proxy.transport.reads
    proxy.wait(connection.WRITE_SECONDS - 0.1)
    assert not proxy.transport.closed
    proxy.wait(0.1)

    assert proxy.transport.aborted
    assert asked == len(proxy.context.asked) == 1


def test_a_client_that_reads_again_gets_the_rest(proxy):
    proxy.send(a_request() * 3)
    proxy.connection.pause_writing()
    proxy.connection.resume_writing()
    proxy.connection.pause_writing()
    proxy.turns()
    proxy.connection.resume_writing()
    proxy.turns()

    assert proxy.statuses == [200] * 3
    assert proxy.transport.reads


def test_a_client_that_read_slowly_gets_the_full_idle_timeout_again(proxy):
    proxy.send(a_request())
    proxy.connection.pause_writing()
    proxy.context.now += connection.WRITE_SECONDS - 1
    proxy.connection.resume_writing()
    proxy.turns()
    proxy.wait(connection.IDLE_SECONDS - 1)
    assert not proxy.transport.closed
    proxy.wait(1)

    assert proxy.transport.closed


def test_a_client_that_does_not_read_100_continue_is_not_read_from():
    proxy = Proxy(blocks_at=CONTINUE)

    proxy.send(a_request("Expect: 100-continue", "Content-Length: 3"))

    assert (proxy.transport.sent, proxy.transport.reads) == (CONTINUE, False)


def test_a_turn_that_comes_after_the_end_does_nothing(proxy):
    proxy.send(a_request("Content-Length: 9", body=b"abc"))
    proxy.connection.pause_writing()
    proxy.connection.resume_writing()
    proxy.wait(bodies.SECONDS)
    assert proxy.transport.half_closed

    proxy.turns()

    assert (proxy.statuses, len(proxy.context.asked)) == ([200], 1)


def test_a_closing_connection_is_bounded_in_time_and_bytes(proxy):
    for ends in (lambda it: it.wait(connection.LINGER_SECONDS), lambda it: it.send(bytes(connection.LINGER_BYTES + 1))):
        proxy = Proxy()
        proxy.send(b"GET\r\n\r\n")
        assert not proxy.transport.closed
        ends(proxy)
        assert proxy.transport.aborted


def test_a_half_closed_connection_gets_all_its_answers(proxy):
    proxy.send(a_request() * 3)

    assert proxy.connection.eof_received()
    proxy.turns()

    assert proxy.statuses == [200] * 3
    assert proxy.transport.closed


def test_a_half_closed_connection_with_half_a_request_is_closed(proxy):
    proxy.send(a_request()[:-1])

    assert not proxy.connection.eof_received()


def test_a_failing_application_gives_503_and_closes_the_connection(proxy):
    proxy = Proxy(RuntimeError("a bug"))

    with pytest.raises(RuntimeError, match="a bug"):
        proxy.send(a_request() * 2)
    proxy.turns()

    assert proxy.statuses == [503]
    assert proxy.transport.half_closed
    assert len(proxy.context.asked) == 1


@pytest.mark.parametrize("value", ["a\r\nb: c", "a\nb", "a\rb", "a\0b", "\u20ac"])
def test_an_invalid_header_value_gives_503_and_closes_the_connection(value, caplog):
    proxy = Proxy(Answer(200, (("X-A", value),)))

    proxy.send(a_request())

    assert proxy.statuses == [503]
    assert proxy.transport.closed
    assert value not in caplog.text


def test_a_stopping_worker_answers_with_connection_close(proxy):
    proxy.context.is_leaving = True

    proxy.send(a_request())

    assert b"connection: close\r\n" in proxy.transport.sent
    assert proxy.transport.closed


def test_connections_with_an_unanswered_request_are_neither_evictable_nor_idle(proxy):
    states = {"new": (proxy.connection.is_evictable, proxy.connection.is_idle)}
    proxy.send(b"GET ")
    states["half a head"] = (proxy.connection.is_evictable, proxy.connection.is_idle)
    proxy.send(b"/ HTTP/1.1\r\nContent-Length: 3\r\n\r\n")
    states["half a body"] = (proxy.connection.is_evictable, proxy.connection.is_idle)
    proxy.send(b"abc" + a_request())
    states["one behind the other"] = (proxy.connection.is_evictable, proxy.connection.is_idle)
    proxy.turns()
    states["answered"] = (proxy.connection.is_evictable, proxy.connection.is_idle)

    assert states == {
        "new": (True, True),
        "half a head": (True, False),
        "half a body": (False, False),
        "one behind the other": (False, False),
        "answered": (True, True),
    }


def test_a_lost_connection_does_nothing_more(proxy):
    proxy.send(a_request() * 2)
    proxy.connection.connection_lost(None)
    proxy.turns()
    proxy.transport.closed = True
    proxy.wait(1000)

    assert len(proxy.context.asked) == 1
    assert proxy.context.known == ["opened", "answered", "closed"]
