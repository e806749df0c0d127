"""One connection of the data plane over a transport that writes down what is done to it."""

import asyncio

import pytest

from gatewall.forwardauth import bodies, connection
from gatewall.forwardauth.connection import Connection
from gatewall.forwardauth.http1 import Body
from gatewall.forwardauth.responses import Answer
from tests.wire import a_request, answers_in, split

OK = Answer(200, (("X-A", "1"),))


class Transport(asyncio.Transport):
    """The other end: what it was sent, and what the connection did."""

    def __init__(self, peer=("192.0.2.1", 1)):
        super().__init__({"peername": peer})
        self.sent = b""
        self.reads = True
        self.half_closed = self.closed = self.aborted = False

    def write(self, data):
        assert not self.half_closed
        assert not self.closed
        self.sent += data

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


class House:
    """The server of one connection, its loop and its clock."""

    def __init__(self, answer=OK):
        self.now = 1000.0
        self.date = "date: today\n"
        self.is_leaving = False
        self.buffer = memoryview(bytearray(65_536))
        self.answer = answer
        self.asked = []
        self.known = []
        self._turns = []

    def application(self, method, target, lines, peer, scheme, body):
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

    def call_soon(self, call):
        handle = Handle(call)
        self._turns.append(handle)
        return handle

    def turn(self):
        """One turn of the loop; True if there was anything to do."""
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
    """A connection with what it is connected to."""

    def __init__(self, answer=OK, **transport):
        self.house, self.transport = House(answer), Transport(**transport)
        self.connection = Connection(self.house, self.house)
        self.connection.connection_made(self.transport)

    def send(self, *pieces):
        for piece in pieces:
            for data in split(piece, range(0, len(piece), 65_536)):
                if not self.transport.closed:
                    self.connection.get_buffer(-1)[: len(data)] = data
                    self.connection.buffer_updated(len(data))

    def wait(self, seconds):
        self.house.now += seconds
        self.connection.expire()

    def turns(self):
        while self.house.turn():
            pass

    @property
    def statuses(self):
        return [each.status for each in answers_in(self.transport.sent)]


@pytest.fixture
def proxy():
    return Proxy()


def test_one_answer_is_written_at_once_and_the_connection_stays(proxy):
    proxy.send(a_request())

    assert proxy.house.asked == [("GET", b"/wall/auth", "192.0.2.1", "http", None)]
    assert proxy.transport.sent == b"HTTP/1.1 200 OK\r\nX-A: 1\r\ndate: today\r\ncontent-length: 0\r\n\r\n"
    assert not proxy.transport.closed
    assert proxy.connection.is_idle


def test_the_peer_of_a_unix_socket_is_empty():
    proxy = Proxy(peer="")

    proxy.send(a_request())

    assert proxy.house.asked[0][2] == ""


@pytest.mark.parametrize(("method", "shown"), [("GET", b"page"), ("HEAD", b"")])
def test_head_has_the_length_and_not_the_body(method, shown):
    proxy = Proxy(Answer(403, (), b"page"))

    proxy.send(a_request(method=method))

    assert proxy.transport.sent.partition(b"\r\n\r\n")[2] == shown
    assert b"\r\ncontent-length: 4\r\n" in proxy.transport.sent


def test_requests_that_come_at_once_are_answered_one_a_turn(proxy):
    proxy.send(a_request() * 3 + a_request()[:-2])

    assert proxy.statuses == [200]
    assert not proxy.transport.reads
    proxy.house.turn()
    assert proxy.statuses == [200] * 2
    proxy.house.turn()
    assert proxy.statuses == [200] * 3
    proxy.house.turn()
    assert proxy.transport.reads
    proxy.send(b"\r\n")
    assert proxy.statuses == [200] * 4


def test_who_has_been_answered_everything_is_read_again(proxy):
    proxy.send(a_request() * 3)
    proxy.turns()

    assert proxy.statuses == [200] * 3
    assert proxy.transport.reads


def test_a_client_that_asked_to_close_is_closed_after_its_answer(proxy):
    proxy.send(a_request("Connection: close"))

    assert (proxy.statuses, proxy.transport.closed, proxy.transport.aborted) == ([200], True, False)
    assert b"connection: close\r\n" in proxy.transport.sent


def test_what_stands_behind_the_last_request_is_read_and_not_answered(proxy):
    proxy.send(a_request("Connection: close") + a_request(), a_request(), b"\0")
    proxy.turns()

    assert (proxy.statuses, len(proxy.house.asked)) == ([200], 1)
    assert (proxy.transport.half_closed, proxy.transport.closed, proxy.transport.reads) == (True, False, True)
    assert not proxy.connection.eof_received()  # which closes


def test_a_malformed_request_is_refused_and_the_connection_ends(proxy):
    proxy.send(a_request() + b"GET\r\n\r\n" + a_request())
    proxy.turns()

    assert proxy.statuses == [200, 400]
    assert proxy.transport.half_closed
    assert len(proxy.house.asked) == 1


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
    assert proxy.house.asked[0][4] == Body(body, ended=False)
    assert proxy.transport.half_closed
    assert not proxy.transport.closed


def test_chunks_that_break_before_the_answer_are_refused_once(proxy):
    proxy.send(a_request("Transfer-Encoding: chunked"), b"3\r\nabc", b"d\r\n", b"0\r\n\r\n", a_request())
    proxy.turns()

    assert (proxy.statuses, proxy.house.asked) == ([400], [])


def test_a_late_body_is_answered_with_what_is_there(proxy):
    proxy.send(a_request("Content-Length: 9", body=b"abc"))
    proxy.wait(bodies.SECONDS - 0.1)
    assert proxy.statuses == []
    proxy.wait(0.1)

    assert proxy.statuses == [200]
    assert proxy.house.asked[0][4] == Body(b"abc", ended=False)
    proxy.send(b"defghi" + a_request())
    assert proxy.statuses == [200]


def test_a_client_that_waits_for_100_is_told_once(proxy):
    proxy.send(a_request("Expect: 100-continue", "Content-Length: 3"))
    assert proxy.statuses == [100]
    proxy.send(b"ab", b"c")

    assert proxy.statuses == [100, 200]


def test_a_body_that_came_with_its_head_needs_no_100(proxy):
    proxy.send(a_request("Expect: 100-continue", "Content-Length: 3", body=b"abc"))

    assert proxy.statuses == [200]


def test_a_head_has_its_time_from_the_first_byte_on(proxy):
    proxy.wait(30)
    proxy.send(b"GET ")
    for _ in range(9):
        proxy.wait(1)
        proxy.send(b"/")
    assert proxy.statuses == []
    proxy.wait(1)

    assert proxy.statuses == [408]
    assert proxy.transport.half_closed


def test_an_idle_connection_is_closed_without_a_word(proxy):
    proxy.send(a_request())
    proxy.wait(connection.IDLE_SECONDS - 0.1)
    assert not proxy.transport.closed
    proxy.wait(0.1)

    assert (proxy.statuses, proxy.transport.closed) == ([200], True)


def test_whoever_does_not_read_is_not_read_from_and_has_its_time(proxy):
    proxy.send(a_request() * 3)
    proxy.connection.pause_writing()
    proxy.turns()
    asked = len(proxy.house.asked)
    assert not proxy.transport.reads
    proxy.wait(connection.WRITE_SECONDS - 0.1)
    assert not proxy.transport.closed
    proxy.wait(0.1)

    assert proxy.transport.aborted
    assert asked == len(proxy.house.asked) == 1


def test_whoever_reads_again_gets_the_rest(proxy):
    proxy.send(a_request() * 3)
    proxy.connection.pause_writing()
    proxy.connection.resume_writing()
    proxy.connection.pause_writing()
    proxy.turns()
    proxy.connection.resume_writing()
    proxy.turns()

    assert proxy.statuses == [200] * 3
    assert proxy.transport.reads


def test_a_connection_that_ends_has_its_bounds_in_time_and_bytes(proxy):
    for ends in (lambda it: it.wait(connection.LINGER_SECONDS), lambda it: it.send(bytes(connection.LINGER_BYTES + 1))):
        proxy = Proxy()
        proxy.send(b"GET\r\n\r\n")
        assert not proxy.transport.closed
        ends(proxy)
        assert proxy.transport.aborted


def test_half_a_connection_gets_all_its_answers(proxy):
    proxy.send(a_request() * 3)

    assert proxy.connection.eof_received()
    proxy.turns()

    assert proxy.statuses == [200] * 3
    assert proxy.transport.closed


def test_half_a_connection_with_half_a_request_is_closed(proxy):
    proxy.send(a_request()[:-1])

    assert not proxy.connection.eof_received()


def test_an_application_that_fails_is_a_503_and_the_end(proxy):
    proxy = Proxy(RuntimeError("a bug"))

    with pytest.raises(RuntimeError, match="a bug"):
        proxy.send(a_request() * 2)
    proxy.turns()

    assert proxy.statuses == [503]
    assert proxy.transport.half_closed
    assert len(proxy.house.asked) == 1


@pytest.mark.parametrize("value", ["a\r\nb: c", "a\nb", "a\rb", "a\0b", "\u20ac"])
def test_an_answer_that_is_no_line_is_a_503_and_the_end(value, caplog):
    proxy = Proxy(Answer(200, (("X-A", value),)))

    proxy.send(a_request())

    assert proxy.statuses == [503]
    assert proxy.transport.closed
    assert value not in caplog.text


def test_while_the_worker_leaves_an_answer_says_so(proxy):
    proxy.house.is_leaving = True

    proxy.send(a_request())

    assert b"connection: close\r\n" in proxy.transport.sent
    assert proxy.transport.closed


def test_only_who_waits_for_nothing_may_go(proxy):
    states = {"new": (proxy.connection.may_go, proxy.connection.is_idle)}
    proxy.send(b"GET ")
    states["half a head"] = (proxy.connection.may_go, proxy.connection.is_idle)
    proxy.send(b"/ HTTP/1.1\r\nContent-Length: 3\r\n\r\n")
    states["half a body"] = (proxy.connection.may_go, proxy.connection.is_idle)
    proxy.send(b"abc" + a_request())
    states["one behind the other"] = (proxy.connection.may_go, proxy.connection.is_idle)
    proxy.turns()
    states["answered"] = (proxy.connection.may_go, proxy.connection.is_idle)

    assert states == {
        "new": (True, True),
        "half a head": (True, False),
        "half a body": (False, False),
        "one behind the other": (False, False),
        "answered": (True, True),
    }


def test_what_was_lost_does_nothing_more(proxy):
    proxy.send(a_request() * 2)
    proxy.connection.connection_lost(None)
    proxy.turns()
    proxy.transport.closed = True
    proxy.wait(1000)

    assert len(proxy.house.asked) == 1
    assert proxy.house.known == ["opened", "answered", "closed"]
