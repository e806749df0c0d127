"""Slow visitors and the control plane's server: a slow client occupies a connection, and no thread."""

import threading
from contextlib import ExitStack, contextmanager

import pytest

from gatewall.server import threaded
from tests.servers.served import THREADS, served
from tests.support.processes import PATIENCE, wait_until
from tests.support.wire import Wire, a_request

SLOW = 64
MIB = 1024 * 1024
FORM = ("Content-Type: application/x-www-form-urlencoded", "Content-Length: 500")
A_SLOW_BODY = a_request(*FORM, method="POST", target="/wall/", body=b"username=")
A_SLOW_HEAD = a_request(*FORM, method="POST", target="/wall/")[:-2]


class Site:
    """An application that can make all threads wait for each other."""

    def __init__(self, parties=THREADS):
        self.barrier = threading.Barrier(parties)
        self.asked = []
        self.went_away = []

    def __call__(self, environ, start_response):
        path = environ["PATH_INFO"]
        self.asked.append((environ["REQUEST_METHOD"], path, environ["wsgi.input"].read()))
        if path == "/together":
            self.barrier.wait(PATIENCE)
        if path == "/fails":
            raise RuntimeError("no answer")
        start_response("200 OK", [("Content-Type", "text/plain")])
        if path == "/stream":
            return self._stream()
        return [b"x" * (int(path.removeprefix("/large/")) if path.startswith("/large/") else 2)]

    def _stream(self):
        try:
            while True:
                yield b"x" * 65_536
        finally:
            self.went_away.append("/stream")


@pytest.fixture
def site():
    return Site()


@contextmanager
def wires(port, number, *pieces, receive_buffer=None):
    """Open this many connections and send this on each."""
    with ExitStack() as stack:
        found = [stack.enter_context(Wire(port, receive_buffer=receive_buffer)) for _ in range(number)]
        for each in found:
            each.send(*pieces)
        yield found


def all_answer_together(port, number=THREADS):
    """Return whether this many requests are in threads at the same time, where each waits for the others."""
    with wires(port, number, a_request(target="/together")) as asking:
        return [each.answer().status for each in asking] == [200] * number


def until_read(running, number):
    """Wait until the loop has read the bytes of this many connections."""
    wait_until(lambda: running.ask(lambda server: sum(each.size > 0 for each in server._all())) >= number)


@pytest.mark.parametrize("sent", [A_SLOW_BODY, A_SLOW_HEAD], ids=["bodies", "heads"])
def test_slow_requests_leave_all_threads_free(site, sent):
    with served(site) as running, wires(running.port, SLOW, sent) as slow:
        for each in slow:
            each.send(b"x")
        until_read(running, SLOW)

        assert all_answer_together(running.port)
        assert {path for _, path, _ in site.asked} == {"/together"}


def test_a_connection_that_sends_nothing_takes_no_thread(site):
    with served(site) as running, wires(running.port, SLOW):
        assert all_answer_together(running.port)


def test_slow_readers_of_whole_answers_leave_all_threads_free(site):
    ask = a_request(target=f"/large/{MIB}")
    with served(site) as running, wires(running.port, SLOW, ask, receive_buffer=4096):
        wait_until(lambda: len(site.asked) == SLOW)

        assert all_answer_together(running.port)


def test_slow_readers_of_streamed_answers_take_a_limited_number_of_threads():
    most = THREADS * 3 // 8
    site = Site(parties=THREADS - most)
    with served(site) as running, wires(running.port, SLOW, a_request(target="/stream"), receive_buffer=4096):
        wait_until(lambda: len(site.went_away) == SLOW - most, what="those for whom there is no thread")

        assert running.waiting() == most
        assert all_answer_together(running.port, THREADS - most)


def test_a_slow_reader_gets_the_whole_answer(site):
    with served(site) as running, Wire(running.port, receive_buffer=4096) as wire:
        answer = wire.ask(a_request(target=f"/large/{9 * MIB}"))

        assert (answer.status, len(answer.body)) == (200, 9 * MIB)


def test_a_late_body_is_refused_and_never_reaches_the_application(site, monkeypatch):
    monkeypatch.setattr(threaded, "_READ", threaded._READ._replace(seconds=0.5))
    with served(site) as running, Wire(running.port) as wire:
        wire.send(A_SLOW_BODY)

        assert [each.status for each in wire.rest()] == [408]
        assert site.asked == []


def test_a_connection_whose_reader_stalls_is_closed(site, monkeypatch):
    monkeypatch.setattr(threaded.ThreadedConnection, "write_seconds", 0.5)
    with (
        served(site) as running,
        wires(running.port, 2, a_request(target="/stream"), receive_buffer=4096),
    ):
        wait_until(lambda: len(site.went_away) == 2)
        wait_until(lambda: running.connections() == 0)


def test_over_the_limit_slow_connections_are_closed_and_a_new_one_is_answered(site):
    with served(site, most=16) as running, wires(running.port, 15, A_SLOW_BODY):
        until_read(running, 12)  # connections that are being opened count twice for a moment
        for _ in range(20):
            with Wire(running.port) as wire:
                assert wire.ask(a_request(target="/new")).status == 200
        assert running.connections() <= 16


def test_memory_is_bounded_and_the_largest_bodies_are_refused_first(site):
    lines = ("Content-Length: 1000000",)
    large = a_request(*lines, method="POST", body=b"x" * 900_000)
    with (
        served(site, most_bytes=4 * MIB) as running,
        wires(running.port, 1, A_SLOW_BODY) as small,
        wires(running.port, 12, large),
    ):
        wait_until(lambda: running.connections() == 13)
        wait_until(lambda: running.held() > MIB)

        assert running.held() <= 4 * MIB
        small[0].send(b"x" * 491)
        assert small[0].answer().status == 200
        assert all_answer_together(running.port)


def test_the_memory_of_unread_answers_is_bounded(site):
    ask = a_request(target=f"/large/{3 * MIB}")
    with served(site, most_bytes=8 * MIB) as running, wires(running.port, 16, ask, receive_buffer=4096):
        wait_until(lambda: len(site.asked) == 16)
        wait_until(lambda: running.held() <= 8 * MIB)

        assert all_answer_together(running.port)
