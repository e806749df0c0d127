"""An answer that a thread produces, with a loop that calls at once: what happens if its reader is gone."""

import threading

import pytest

from gatewall.server.answer_bytes import Unsendable
from gatewall.server.exchange import PIECE, Exchange
from tests.support.processes import PATIENCE


class Loop:
    """An event loop that runs the callbacks of threads at once."""

    def call_soon_threadsafe(self, call):
        call()


class Reader:
    """A connection whose reader is always ready until the connection is lost."""

    def __init__(self):
        self.is_lost = False
        self.taken = b""
        self.exchange = Exchange(self, Loop(), method=b"GET", is_new=True, keep_alive=True)

    def write_piece(self, data):
        if not self.is_lost:
            self.taken += data
            self.exchange.room.set()

    def finish(self, data, *, keep_open):
        self.taken += data

    def lose(self):
        self.is_lost = True
        self.exchange.room.set()


def test_a_thread_whose_reader_is_lost_between_two_pieces_does_not_wait():
    reader, closed = Reader(), threading.Event()

    def site(environ, start_response):
        start_response("200 OK", [])
        try:
            yield from [b"x" * PIECE] * 3
            reader.lose()
            yield from [b"y" * PIECE] * 3
        finally:
            closed.set()

    thread = threading.Thread(target=reader.exchange.run, args=(site, {}, ""), daemon=True)
    thread.start()
    thread.join(PATIENCE)

    assert not thread.is_alive()
    assert closed.is_set()
    assert b"x" in reader.taken
    assert b"y" not in reader.taken


@pytest.mark.parametrize("status", ["200 OK\r\nX-Evil: 1", "200 OK\nX-Evil: 1", "200 \0", "OK", "200", "20 OK", None])
def test_a_status_that_is_not_one_line_with_a_number_is_not_sent(status):
    reader = Reader()

    def site(environ, start_response):
        if status is not None:
            start_response(status, [])
        return [b"abc"]

    with pytest.raises(Unsendable):
        reader.exchange.run(site, {}, "")

    assert (reader.taken, reader.exchange.has_begun) == (b"", False)


@pytest.mark.parametrize("status", ["200 ", "299 Quite all right", "404 Introuvable \xe9"])
def test_a_status_may_have_any_words_or_none(status):
    reader = Reader()

    def site(environ, start_response):
        start_response(status, [])
        return []

    reader.exchange.run(site, {}, "")

    assert reader.taken.startswith(f"HTTP/1.1 {status}\r\n".encode("latin-1"))
