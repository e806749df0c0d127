"""The control plane's master: reloads without an interruption, and no orphaned workers."""

import os
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import psutil

from tests.support.children import workers
from tests.support.processes import (
    PATIENCE,
    control_plane,
    environment,
    is_listening,
    manager,
    request,
    running,
    token_of,
    wait_until,
)
from tests.support.wire import Wire, a_request


def stopped_successor(process):
    """Reload, and stop the successor before it answers; return the ids of the old worker and of the successor."""
    for _ in range(10):
        old = workers(process)
        process.send_signal(signal.SIGHUP)
        wait_until(lambda before=old: workers(process) - before, what="a successor", pause=0.001)
        (successor,) = workers(process) - old
        os.kill(successor, signal.SIGSTOP)
        time.sleep(2)  # by then an old worker that got SIGTERM has ended
        if old <= workers(process):
            return old, successor
        os.kill(successor, signal.SIGCONT)  # the successor was stopped too late
        wait_until(lambda only=successor: workers(process) == {only}, what="the successor alone")
    raise AssertionError("every successor answered before it was stopped")


def test_the_old_worker_answers_until_its_successor_does(home, port):
    with control_plane(home, port, GATEWALL_WORKERS="1") as process:
        old, successor = stopped_successor(process)
        answers = [request(port, "/wall/health/live").status for _ in range(20)]
        stayed = old <= workers(process)
        os.kill(successor, signal.SIGCONT)
        wait_until(lambda: workers(process) == {successor}, what="the successor alone")

        assert (answers, stayed) == ([200] * 20, True)
        assert request(port, "/wall/health/live").status == 200


def test_a_stop_answers_requests_under_way_and_ends_with_0(home, port):
    body = b'{"username": "nobody", "password": "wrong"}'
    lines = ("Content-Type: application/json", f"Content-Length: {len(body)}", "Expect: 100-continue")
    with control_plane(home, port, GATEWALL_WORKERS="1") as process, Wire(port) as wire:
        wire.send(a_request(*lines, method="POST", target="/wall/login"))
        assert wire.socket.recv(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
        wire.send(body[:10])
        process.send_signal(signal.SIGTERM)
        time.sleep(1)
        wire.send(body[10:])

        assert wire.answer().status == 401
        assert process.wait(30) == 0


def test_no_worker_outlives_a_master_that_is_killed(home, port):
    with control_plane(home, port) as process:
        os.kill(min(workers(process)), signal.SIGSTOP)  # so that it cannot check for its master
        process.kill()
        process.wait()

        wait_until(lambda: not is_listening(port), what="a free port")


def test_the_master_notifies_when_it_handles_signals(home, port, tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.bind(str(tmp_path / "notify"))
        told.settimeout(PATIENCE)
        with control_plane(home, port, NOTIFY_SOCKET=str(tmp_path / "notify"), GATEWALL_WORKERS="1"):
            assert told.recv(1000).splitlines()[0] == b"READY=1"


def test_a_taken_port_is_one_line(home, port):
    with (
        control_plane(home, port, GATEWALL_WORKERS="1"),
        running(
            manager("control_plane"), log=home / "second.log", env=environment(home, GATEWALL_PORT=str(port))
        ) as second,
    ):
        assert second.wait(60) == 2
    assert [str(port) in line for line in (home / "second.log").read_text().splitlines()] == [True]


def test_the_memory_of_sign_ins_is_returned(home, port):
    at_once, hash_bytes = 8, 19 * 2**20  # as many as there are threads, each of which may have a heap of its own
    with control_plane(home, port, GATEWALL_WORKERS="1") as process, ThreadPoolExecutor(at_once) as people:
        (worker,) = map(psutil.Process, workers(process))
        token_of(port)
        before = worker.memory_info().rss
        for _ in range(5):
            list(people.map(token_of, [port] * at_once))

        assert worker.memory_info().rss - before < 2 * hash_bytes
