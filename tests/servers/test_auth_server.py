"""The data plane as a process, over raw connections: no connection affects another one."""

import shlex
import threading
import time
import uuid
from contextlib import ExitStack

import psutil
import pytest

from gatewall.gate.bodies import READ_AT_MOST, SECONDS
from gatewall.install.ports import free_port
from tests.support.processes import environment, manager, prepare, running, wait_for
from tests.support.wire import Wire, a_request, answers_in

LIVE = a_request(target="/wall/health/live")
AUTH = a_request("X-Forwarded-For: 192.0.2.7", "X-Forwarded-Host: office.example")
FORWARD = {"target": "/wall/auth/forward", "method": "GET"}
DESCRIPTORS = 190
LIMIT = DESCRIPTORS - 128


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Run one worker with few descriptors, and so few connections; return its port and process."""
    home, port = tmp_path_factory.mktemp("home"), free_port()
    prepare(home)
    command = ["sh", "-c", f"ulimit -n {DESCRIPTORS}; exec {shlex.join(manager('data_plane'))}"]
    env = environment(home, GATEWALL_AUTH_PORT=str(port), GATEWALL_WORKERS="1")
    with running(command, log=home / "auth.log", env=env) as process:
        wait_for(f"http://127.0.0.1:{port}/wall/health/live", process, home / "auth.log")
        [worker] = psutil.Process(process.pid).children()
        yield port, worker
        assert process.poll() is None
    assert "Traceback" not in (home / "auth.log").read_text()


@pytest.fixture(scope="module")
def port(served):
    return served[0]


def moment(given):
    """Return the time of a decision in milliseconds, from its id."""
    return uuid.UUID(given.headers["x-gatewall-decision-id"]).int >> 80


def is_served(port):
    with Wire(port) as wire:
        return wire.ask(LIVE).status == 200


def test_a_connection_answers_one_request_after_the_other(port):
    with Wire(port) as wire:
        first, second = wire.ask(AUTH), wire.ask(AUTH)
        wire.send(AUTH + LIVE, LIVE)
        others = [wire.answer().status for _ in range(3)]

    assert (first.status, others) == (401, [401, 200, 200])
    assert first.headers["x-gatewall-decision-id"] != second.headers["x-gatewall-decision-id"]
    assert first.headers["date"].endswith(" GMT")


def test_a_flood_of_requests_on_one_connection_does_not_keep_the_others_waiting(port):
    many = 3000
    with Wire(port) as flood, Wire(port) as other:
        other.ask(AUTH)
        sender = threading.Thread(target=flood.send, args=(AUTH * many,))
        sender.start()
        begun = flood.answer()
        between = other.ask(AUTH)
        last = [flood.answer() for _ in range(many - 1)][-1]
        sender.join()

    assert moment(begun) <= moment(between) < moment(last)


def test_a_client_that_sends_and_never_reads_does_not_fill_the_memory(port):
    with Wire(port, patience=3, receive_buffer=4096) as deaf:
        with pytest.raises(TimeoutError):
            deaf.send(*[LIVE * 1000] * 1000)

        assert is_served(port)


def test_unfinished_requests_end_with_408_and_do_not_delay_others(port):
    with ExitStack() as stack:
        slow = [stack.enter_context(Wire(port)) for _ in range(LIMIT // 2)]
        for at, wire in enumerate(slow):
            wire.send(AUTH[: 1 + at])
        assert is_served(port)

        ends = [[given.status for given in wire.rest()] for wire in slow]

    assert ends == [[408]] * len(slow)


def test_at_the_limit_connections_without_a_request_are_closed_first(port):
    with ExitStack() as stack:
        served = [stack.enter_context(Wire(port)) for _ in range(LIMIT // 2)]
        under_way = stack.enter_context(Wire(port))
        assert {wire.ask(LIVE).status for wire in served} == {200}
        under_way.send(a_request("Content-Length: 3", **FORWARD) + b"ab")
        for _ in range(4):
            for _ in range(LIMIT // 3):
                stack.enter_context(Wire(port))
            assert {wire.ask(LIVE).status for wire in served} == {200}
            time.sleep(1.1)  # until then their requests may be on the way and not read yet
        newest = stack.enter_context(Wire(port))

        assert newest.ask(LIVE).status == 200
        assert {wire.ask(LIVE).status for wire in served} == {200}
        assert under_way.ask(b"c").status in {302, 401, 403}
    time.sleep(0.5)
    assert is_served(port)


def test_among_served_connections_the_one_idle_longest_is_closed(port):
    with ExitStack() as stack:
        oldest = stack.enter_context(Wire(port))
        oldest.ask(LIVE)
        others = []
        for _ in range(LIMIT * 2):
            others.append(stack.enter_context(Wire(port)))
            assert others[-1].ask(LIVE).status == 200

        assert oldest.is_closed()
        assert others[-LIMIT // 2].ask(LIVE).status == 200


@pytest.mark.parametrize("coding", ["length", "chunks"])
def test_a_client_that_sends_its_whole_upload_first_can_read_the_answer(port, coding):
    body = b"a" * (READ_AT_MOST * 20)
    framing = f"Content-Length: {len(body)}" if coding == "length" else "Transfer-Encoding: chunked"
    sent = body if coding == "length" else b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)

    with Wire(port) as wire:
        wire.send(a_request(framing, method="POST", target="/wall/auth/envoy/upload"), sent)
        (given,) = wire.rest()

    assert given.status in {302, 401, 403}
    assert given.headers["connection"] == "close"


def test_the_body_timeout_does_not_run_while_the_worker_is_suspended(served):
    port, worker = served
    with Wire(port) as wire:
        wire.ask(LIVE)
        worker.suspend()
        wire.send(a_request("Content-Length: 3", method="POST", target="/wall/health/live"))
        time.sleep(SECONDS + 1)
        worker.resume()
        time.sleep(0.2)
        wire.send(b"abc")
        given = wire.answer()

    assert given.status == 200
    assert "connection" not in given.headers


def test_a_body_that_breaks_after_its_answer_gets_no_second_one(port):
    body = b"%x\r\n%b" % (1 << 24, b"a" * READ_AT_MOST)
    with Wire(port) as wire:
        wire.send(a_request("Transfer-Encoding: chunked", method="POST", target="/wall/auth/envoy/"), body)
        wire.answer()
        wire.send(b"zz\r\n\r\n" * 100, AUTH)

        assert wire.is_closed()


def test_a_malformed_request_behind_others_ends_the_connection_after_their_answers(port):
    with Wire(port) as wire:
        wire.send(LIVE * 20 + b"GET /wall/auth HTTP/1.1\r\nA : b\r\n\r\n" + LIVE)

        assert [given.status for given in wire.rest()] == [200] * 20 + [400]


def test_head_has_no_body_over_the_wire(port):
    with Wire(port) as wire:
        wire.send(a_request("Connection: close", method="HEAD", target="/wall/health/live"))
        data = b""
        while piece := wire.socket.recv(65_536):
            data += piece

    (given,) = answers_in(data, to_head=True)
    assert (given.status, given.headers["content-length"] != "0") == (200, True)


def test_http_1_0_without_a_host_is_answered_and_closed(port):
    with Wire(port) as wire:
        wire.send(b"GET /wall/health/live HTTP/1.0\r\n\r\n")

        assert [given.status for given in wire.rest()] == [200]
