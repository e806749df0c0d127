"""The control plane as a process, while visitors are slow or disconnect within a request."""

import socket
import struct
import sys
import time
from contextlib import ExitStack

import pytest

from tests.servers.together import THREADS
from tests.support.processes import (
    PASSWORD,
    control_plane,
    environment,
    is_listening,
    request,
    running,
    sign_in,
    wait_until,
)
from tests.support.wire import Wire, a_request

SLOW = 64
FORM = ("Content-Type: application/x-www-form-urlencoded", "Content-Length: 500")
BODY_BEGUN = a_request(*FORM, method="POST", target="/wall/", body=b"username=admin&password=")
HEAD_BEGUN = a_request(*FORM, method="POST", target="/wall/")[:-2]


@pytest.mark.parametrize("begun", [BODY_BEGUN, HEAD_BEGUN], ids=["bodies", "heads"])
def test_slow_visitors_leave_all_threads_of_the_worker_free(home, port, begun):
    command = [sys.executable, "-m", "gatewall.server.master", "-c", "deploy/gunicorn.conf.py"]
    env = environment(home, GATEWALL_PORT=str(port), GATEWALL_WORKERS="1")
    with (
        running([*command, "tests.servers.together:application"], log=home / "control.log", env=env),
        ExitStack() as stack,
    ):
        wait_until(lambda: is_listening(port))
        slow = [stack.enter_context(Wire(port)) for _ in range(SLOW)]
        for each in slow:
            each.send(begun)
        asking = [stack.enter_context(Wire(port, patience=20)) for _ in range(THREADS)]
        for each in asking:
            each.send(a_request(target="/together"))

        assert [each.answer().status for each in asking] == [200] * THREADS


def test_sign_in_works_beside_slow_visitors_and_slow_ones_get_408(home, port):
    with control_plane(home, port, GATEWALL_WORKERS="1"), ExitStack() as stack:
        slow = [stack.enter_context(Wire(port)) for _ in range(SLOW)]
        for number, each in enumerate(slow):
            each.send(HEAD_BEGUN if number % 2 else BODY_BEGUN)

        assert sign_in(port)
        assert [each.status for each in slow[1].rest()] == [408]


def test_an_aborted_post_is_no_error(home, port):
    body = f"username=admin&password={PASSWORD.replace(' ', '+')}&rd=/".encode()
    whole = a_request(FORM[0], f"Content-Length: {len(body)}", method="POST", target="/wall/", body=body)
    with control_plane(home, port, GATEWALL_WORKERS="1"):
        for number in range(8):
            with Wire(port) as wire:
                wire.send(BODY_BEGUN if number % 2 else whole)
                time.sleep(0.05)  # some are read by then, some are answered meanwhile
                if number % 4 < 2:
                    wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        assert request(port, "/wall/health/live").status == 200
    assert [line for line in (home / "control.log").read_text().splitlines() if "[INFO]" not in line] == []
