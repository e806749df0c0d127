"""The data plane's processes: workers end and are replaced without a lost request."""

import http.client
import os
import signal
import stat
import sys
import threading
import time

import psutil
import pytest

from tests.support.children import is_alive, workers
from tests.support.processes import PATIENCE, data_plane, environment, manager, request, running, stop, wait_until
from tests.support.wire import Wire, a_request

WORKERS = 2
LIVE = a_request(target="/wall/health/live")


def is_whole(process):
    """Return whether all workers exist, including those that the master has just forked."""
    return len(workers(process)) == WORKERS


class Askers:
    """Threads that send requests continuously over keep-alive connections; any status other than 200 is a failure."""

    def __init__(self, port, connections=4):
        self._port, self._end = port, threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(connections)]
        self.answered, self.failed = 0, []

    def __enter__(self):
        for each in self._threads:
            each.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        for each in self._threads:
            each.join()

    def wait_for_more(self, many=200):
        goal = self.answered + many
        wait_until(lambda: self.answered >= goal, what="answers")

    def _ask(self):
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        while not self._end.is_set():
            try:
                connection.request("GET", "/wall/health/live")
                given = connection.getresponse()
                given.read()
                if given.status != 200:
                    self.failed.append(given.status)
                self.answered += 1
            except (OSError, http.client.HTTPException) as error:
                self.failed.append(repr(error))
                connection.close()
            time.sleep(0.002)
        connection.close()


def test_a_reload_under_load_fails_no_request_and_replaces_all_workers(home, port):
    with data_plane(home, port, path="/health/live", GATEWALL_WORKERS=str(WORKERS)) as process:
        wait_until(lambda: is_whole(process))
        with Askers(port) as askers:
            for _ in range(3):
                before = workers(process)
                askers.wait_for_more()
                process.send_signal(signal.SIGHUP)
                wait_until(lambda: is_whole(process) and not before & workers(process), what="other workers")  # noqa: B023
            askers.wait_for_more()

        assert askers.failed == []
        assert process.poll() is None


def test_a_stop_answers_requests_under_way_and_closes_idle_connections(home, port):
    with data_plane(home, port, path="/health/live", GATEWALL_WORKERS="1") as process, Wire(port) as idle:
        assert idle.ask(LIVE).status == 200
        with Wire(port) as under_way:
            under_way.send(a_request("Content-Length: 3", target="/wall/auth/forward"))
            under_way.send(b"ab")
            assert idle.ask(LIVE).status == 200  # by then the worker has read the other request
            process.send_signal(signal.SIGTERM)
            time.sleep(0.3)

            given = under_way.ask(b"c")

        assert (given.status, given.headers["connection"]) == (403, "close")
        assert idle.is_closed()
        assert process.wait(30) == 0


def test_a_request_during_a_stop_is_answered_with_connection_close(home, port):
    with data_plane(home, port, path="/health/live", GATEWALL_WORKERS="1") as process, Wire(port) as wire:
        assert "connection" not in wire.ask(LIVE).headers
        process.send_signal(signal.SIGTERM)
        time.sleep(0.3)

        given = wire.ask(LIVE)

        assert (given.status, given.headers["connection"]) == (200, "close")
        assert process.wait(30) == 0


@pytest.mark.parametrize("number", [signal.SIGQUIT, signal.SIGINT])
def test_a_quick_stop_waits_for_no_request(home, port, number):
    with data_plane(home, port, path="/health/live", GATEWALL_WORKERS="1") as process, Wire(port) as wire:
        wire.send(LIVE[:9])
        process.send_signal(number)

        assert process.wait(30) == 0
        assert wire.is_closed()


def test_workers_that_are_stopped_while_they_start_end(home, port):
    env = environment(home, GATEWALL_AUTH_PORT=str(port), GATEWALL_WORKERS=str(WORKERS))
    with running(manager("data_plane"), log=home / "auth.log", env=env) as process:
        wait_until(lambda: workers(process))
        process.send_signal(signal.SIGTERM)

        assert process.wait(PATIENCE) == 0


STOPS_WHILE_FORKING = """
import os
from gatewall.server import master

class HastyMaster(master.Master):
    def manage_workers(self):
        super().manage_workers()
        raise StopIteration  # as SIGTERM does

os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
master.Master = HastyMaster
master.main()
"""


def test_workers_still_within_the_fork_are_stopped_too(home, port):
    """On one processor the master's SIGTERM reaches a worker before the interpreter finished the fork there."""
    options = ["-c", "deploy/data_plane.conf.py", "gatewall.data_plane:application()"]
    env = environment(home, GATEWALL_AUTH_PORT=str(port), GATEWALL_WORKERS="8")
    with running([sys.executable, "-c", STOPS_WHILE_FORKING, *options], log=home / "auth.log", env=env) as process:
        assert process.wait(PATIENCE) == 0


def test_workers_die_with_a_master_that_is_killed_and_the_next_takes_the_port(home, port):
    with data_plane(home, port, path="/health/live", GATEWALL_WORKERS=str(WORKERS)) as process:
        wait_until(lambda: is_whole(process))
        orphans = [psutil.Process(pid) for pid in workers(process)]
        process.kill()
        process.wait()
        wait_until(lambda: not any(is_alive(each) for each in orphans), what="the end of the orphans")

        with data_plane(home, port, path="/health/live", GATEWALL_WORKERS=str(WORKERS)):
            assert request(port, "/wall/health/live").status == 200


def test_a_worker_that_is_killed_is_replaced(home, port):
    with data_plane(home, port, path="/health/live", GATEWALL_WORKERS=str(WORKERS)) as process:
        wait_until(lambda: is_whole(process))
        for _ in range(3):
            before = workers(process)
            os.kill(min(before), signal.SIGKILL)
            wait_until(lambda: is_whole(process) and workers(process) != before)  # noqa: B023

        assert request(port, "/wall/health/live").status == 200
        assert process.poll() is None


def test_a_unix_socket_is_for_its_owner_and_group_and_gone_after_a_stop(home):
    unix = home / "auth.sock"
    with data_plane(home, unix=unix, GATEWALL_WORKERS="1") as process:
        assert stat.S_IMODE(unix.stat().st_mode) == 0o660
        process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        assert unix.is_socket()

        assert stop(process, 30) == 0
        assert not unix.exists()


def test_a_socket_that_a_killed_master_left_is_taken_over(home):
    unix = home / "auth.sock"
    with data_plane(home, unix=unix, GATEWALL_WORKERS="1") as process:
        process.kill()
        process.wait()
        assert unix.is_socket()

        with data_plane(home, unix=unix, GATEWALL_WORKERS="1"):
            assert unix.is_socket()
