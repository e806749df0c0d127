"""HTTP of the control plane's server: the bytes of an application's answer, and the requests that reach it."""

import json
import logging
import socket
import struct
import threading
from contextlib import suppress

import pytest

from gatewall.kernel.request_bodies import MAX_BODY
from gatewall.server.exchange import PIECE
from tests.servers.served import served
from tests.support.processes import PATIENCE, wait_until
from tests.support.wire import Wire, a_request

PLAIN = ("Content-Type", "text/plain")
HTTP_1_0 = b"GET %b HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"


class Parts:
    """Parts of an answer that record whether they were closed."""

    def __init__(self, parts, closed):
        self._parts, self._closed = iter(parts), closed

    def __iter__(self):
        return self._parts

    def close(self):
        self._closed.append(True)


class Site:
    """An application with the answer that a test sets."""

    def __init__(self, *parts, status="200 OK", headers=(PLAIN,), error=None, gate=None):
        self.parts, self.status, self.headers, self.error, self.gate = parts, status, headers, error, gate
        self.asked, self.closed = [], []

    def __call__(self, environ, start_response):
        self.asked.append((environ["REQUEST_METHOD"], environ["RAW_URI"], environ["wsgi.input"].read()))
        if self.gate is not None:
            assert self.gate.wait(PATIENCE)
        start_response(self.status, list(self.headers))
        return Parts(self._all(), self.closed)

    def _all(self):
        yield from self.parts
        if self.error is not None:
            raise self.error


def everything(port, *sent):
    """Return all bytes received until the other end closes."""
    with Wire(port) as wire:
        wire.send(*sent)
        data = b""
        while piece := wire.socket.recv(65_536):
            data += piece
    return data


def chunks_of(data):
    """Return the decoded content of a chunked body."""
    found = b""
    while True:
        size, _, data = data.partition(b"\r\n")
        length = int(size, 16)
        found, data, end = found + data[:length], data[length + 2 :], data[length : length + 2]
        assert end == b"\r\n"
        if not length:
            assert data == b""
            return found


LARGE = [bytes([65 + n]) * (PIECE - 1) for n in range(5)]


def test_a_whole_answer_has_its_length_and_the_connection_stays():
    site = Site(b"two ", b"parts")
    with served(site) as running, Wire(running.port) as wire:
        for _ in range(3):
            answer = wire.ask(a_request())
            assert (answer.status, answer.headers["content-length"], answer.body) == (200, "9", b"two parts")
        wait_until(lambda: site.closed == [True] * 3)


def test_a_header_value_has_no_space_around_it():
    with served(Site(b"", headers=[("Set-Cookie", " a=1; Path=/\t")])) as running:
        assert b"\r\nSet-Cookie: a=1; Path=/\r\n" in everything(running.port, a_request("Connection: close"))


def test_an_answer_in_pieces_is_chunked():
    with served(Site(*LARGE)) as running:
        head, _, data = everything(running.port, a_request("Connection: close")).partition(b"\r\n\r\n")

    assert b"\r\ntransfer-encoding: chunked\r\n" in head
    assert b"content-length" not in head
    assert chunks_of(data) == b"".join(LARGE)


def test_over_http_1_0_a_streamed_answer_ends_with_the_connection():
    with served(Site(*LARGE)) as running:
        head, _, data = everything(running.port, HTTP_1_0 % b"/").partition(b"\r\n\r\n")

    assert b"transfer-encoding" not in head
    assert b"\r\nconnection: close" in head
    assert data == b"".join(LARGE)


def test_an_answer_in_pieces_keeps_its_content_length():
    headers = (PLAIN, ("Content-Length", str(len(b"".join(LARGE)))))
    with served(Site(*LARGE, headers=headers)) as running, Wire(running.port) as wire:
        assert wire.ask(a_request()).body == wire.ask(a_request()).body == b"".join(LARGE)


@pytest.mark.parametrize("parts", [LARGE, [b"abc"]], ids=["in pieces", "whole"])
def test_an_answer_has_no_bytes_beyond_its_length_and_a_short_one_closes_the_connection(parts):
    body = b"".join(parts)
    for length in (len(body) - 2, len(body) + 2):
        last = a_request("Connection: close")
        sent = last if length < len(body) else a_request() + last
        with served(Site(*parts, headers=[("Content-Length", str(length))])) as running:
            head, _, data = everything(running.port, sent).partition(b"\r\n\r\n")
            assert f"content-length: {length}".encode() in head.lower()
            assert data == body[:length]


@pytest.mark.parametrize("parts", [LARGE, [b"abc"]], ids=["in pieces", "whole"])
def test_head_gets_headers_alone(parts):
    with served(Site(*parts)) as running:
        data = everything(running.port, a_request(method="HEAD") + a_request("Connection: close", method="HEAD"))
    heads = data.split(b"\r\n\r\n")
    assert [head[:15] for head in heads] == [b"HTTP/1.1 200 OK"] * 2 + [b""]
    assert (b"content-length: 3" in data) is (parts == [b"abc"])


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
def test_a_status_without_a_body_sends_none(status):
    with served(Site(b"abc", status=status)) as running:
        data = everything(running.port, a_request("Connection: close"))

    assert (data.endswith(b"\r\n\r\n"), b"content-length" in data) == (True, False)


def test_requests_that_come_at_once_are_answered_in_their_order():
    site = Site(b"")
    with served(site) as running:
        pieces = [a_request(target=f"/{n}") for n in range(9)] + [a_request("Connection: close", target="/9")]
        data = everything(running.port, b"".join(pieces))

    assert data.count(b"HTTP/1.1 200 OK") == 10
    assert [target for _, target, _ in site.asked] == [f"/{n}" for n in range(10)]


def test_a_client_that_expects_100_continue_gets_it():
    site = Site(b"")
    with served(site) as running, Wire(running.port) as wire:
        wire.send(a_request("Expect: 100-continue", "Content-Length: 3", method="POST"))
        assert wire.socket.recv(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
        wire.send(b"abc")

        assert wire.answer().status == 200
        assert site.asked == [("POST", "/wall/auth", b"abc")]


def test_a_body_up_to_the_limit_is_read_and_a_longer_one_is_answered_unread():
    site = Site(b"")
    with served(site) as running, Wire(running.port) as wire:
        body = b"x" * MAX_BODY
        assert wire.ask(a_request(f"Content-Length: {MAX_BODY}", method="POST"), body).status == 200
        assert wire.ask(a_request(f"Content-Length: {MAX_BODY + 1}", method="POST")).headers["connection"] == "close"

    assert [data for _, _, data in site.asked] == [body, b""]


@pytest.mark.parametrize("framing", ["Content-Length: 9000000", "Transfer-Encoding: chunked"])
def test_bytes_after_an_unread_body_are_no_request(framing):
    site = Site(b"")
    with served(site) as running, Wire(running.port) as wire:
        wire.send(a_request(framing, method="POST") + a_request(target="/smuggled"))
        wire.socket.shutdown(socket.SHUT_WR)

        assert [each.status for each in wire.rest()] == [200]
        assert [target for _, target, _ in site.asked] == ["/wall/auth"]


@pytest.mark.parametrize(
    ("site", "said"),
    [
        (Site(error=RuntimeError("before")), b"HTTP/1.1 500 "),
        (Site(headers=[("X", "a\r\nSet-Cookie: b")]), b"HTTP/1.1 500 "),
        (Site(headers=[("Content-Length", "x")]), b"HTTP/1.1 500 "),
        (Site(headers=[("X", "\u4f60")]), b"HTTP/1.1 500 "),
    ],
    ids=["raises", "two lines", "a bad length", "not latin-1"],
)
def test_an_answer_that_cannot_be_made_is_500_and_a_line_in_the_log(caplog, site, said):
    with served(site) as running:
        data = everything(running.port, a_request())

    assert data.startswith(said)
    assert data.count(b"HTTP/1.1") == 1
    assert "a request was not answered" in caplog.text
    assert site.closed == [True]


def test_an_answer_that_fails_in_the_middle_is_not_terminated(caplog):
    with served(Site(*LARGE, error=RuntimeError("amid"))) as running, suppress(ConnectionResetError):
        data = everything(running.port, a_request())
        assert not data.endswith(b"0\r\n\r\n")

    assert "a request was not answered" in caplog.text


# Clients that disconnect.


def reset(wire):
    """Close the connection with a reset."""
    wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    wire.close()


@pytest.mark.parametrize("leaves", [reset, Wire.close], ids=["reset", "closed"])
def test_an_aborted_post_does_not_reach_the_application_and_is_no_error(caplog, leaves):
    caplog.set_level(logging.DEBUG)
    site = Site(b"")
    with served(site) as running:
        wire = Wire(running.port)
        wire.send(a_request("Content-Length: 500", method="POST", body=b"username="))
        wait_until(lambda: running.held() > 0)
        leaves(wire)
        wait_until(lambda: running.connections() == 0)

    assert site.asked == []
    assert [record for record in caplog.records if record.levelno > logging.DEBUG] == []


@pytest.mark.parametrize("parts", [[b"x" * 10_000_000], [b"x" * PIECE] * 200], ids=["whole", "in pieces"])
@pytest.mark.parametrize("leaves", [reset, Wire.close], ids=["reset", "closed"])
def test_a_client_that_goes_away_while_it_is_answered_is_no_error(caplog, leaves, parts):
    caplog.set_level(logging.DEBUG)
    gate = threading.Event()
    site = Site(*parts, gate=gate)
    with served(site) as running:
        wire = Wire(running.port)
        wire.send(a_request())
        wait_until(lambda: site.asked)
        leaves(wire)
        gate.set()
        wait_until(lambda: running.connections() == 0)
        wait_until(lambda: site.closed == [True])

    assert [record for record in caplog.records if record.levelno > logging.DEBUG] == []


def test_a_stop_waits_for_answers_of_threads():
    gate = threading.Event()
    site = Site(b"late", gate=gate)
    with served(site) as running, Wire(running.port) as wire, Wire(running.port) as idle:
        wire.send(a_request())
        wait_until(lambda: site.asked)
        running.begin_to_stop(PATIENCE)
        assert idle.is_closed()
        gate.set()

        assert wire.answer().body == b"late"
        assert wire.is_closed()


def test_a_stop_closes_slow_readers():
    site = Site(*[b"x" * PIECE] * 2000)
    with served(site) as running, Wire(running.port, receive_buffer=4096) as wire:
        wire.send(a_request())
        wait_until(lambda: running.waiting() == 1)
        running.begin_to_stop(0.5)
        running.stop()
        wait_until(lambda: site.closed == [True])


def test_an_application_gets_the_query_and_headers_unchanged():
    asked = []

    def site(environ, start_response):
        asked.append({key: value for key, value in environ.items() if key.startswith(("HTTP_X", "REMOTE"))})
        start_response("200 OK", [])
        return [json.dumps(environ["QUERY_STRING"]).encode()]

    with served(site) as running, Wire(running.port) as wire:
        answer = wire.ask(a_request("X-A: 1", "X-A: 2", "X_A: 3", "X-B: \xff", target="/?a=%20&b"))

    assert answer.body == b'"a=%20&b"'
    assert asked == [{"REMOTE_ADDR": "127.0.0.1", "HTTP_X_A": "1\n2", "HTTP_X_B": "\xff"}]
