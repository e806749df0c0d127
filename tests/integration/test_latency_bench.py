"""The open loop that measures latencies, and the measurement of CPU time of processes."""

import os
import socketserver
import subprocess
import sys
import threading
import time
from contextlib import suppress

import pytest

from bench.cpu import scheduled
from bench.open_loop import latencies, percentile


class Server(socketserver.ThreadingTCPServer):
    """A server that answers every request with these bytes, in two pieces, after a set delay."""

    allow_reuse_address = daemon_threads = True
    request_queue_size = 64

    def __init__(self, answer, seconds=0.0):
        self.answer, self.seconds, self.asked = answer, seconds, []
        super().__init__(("127.0.0.1", 0), Lines)
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()


class Lines(socketserver.BaseRequestHandler):
    def handle(self):
        with suppress(OSError):  # the client may have disconnected
            while request := self.request.recv(4096):
                self.server.asked.append(request)
                time.sleep(self.server.seconds)
                self.request.sendall(self.server.answer[:20])
                self.request.sendall(self.server.answer[20:])


@pytest.fixture
def serving():
    """Return a function that starts a server; it is stopped after the test."""
    started = []

    def start(answer, **options):
        started.append(Server(answer, **options))
        return started[-1]

    yield start
    for each in started:
        each.shutdown()
        each.server_close()


def test_a_latency_counts_from_the_moment_a_request_was_due(serving):
    server = serving(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", seconds=0.02)

    took = latencies(server.server_address[1], [b"1", b"2"], rate=100, until=lambda: len(server.asked) >= 10)

    assert len(took) == len(server.asked) >= 10
    assert min(took) >= 0.02
    assert {b"1", b"2"} == set(server.asked)
    assert percentile(took, 0.5) <= percentile(took, 0.99)


@pytest.mark.parametrize("status", [b"500 No", b"401 No"])
def test_an_open_loop_ends_where_an_answer_is_not_200(serving, status):
    server = serving(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\n\r\n")
    end = time.monotonic() + 60

    with pytest.raises(OSError, match="an answer begins"):
        latencies(server.server_address[1], [b"1"], rate=50, until=lambda: time.monotonic() > end)


def test_the_cpu_time_of_a_process_includes_its_children():
    code = "import time\nwhile time.process_time() < 0.3: pass\nprint(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as busy:
        busy.stdout.readline()
        (ran, waited), (all_ran, all_waited) = scheduled(busy.pid), scheduled(os.getpid())
        busy.kill()

    assert all_ran > ran > 0.2
    assert all_waited >= waited >= 0
