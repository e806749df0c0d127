"""The data plane's master during failures: which workers go on answering, and which are started again."""

import os
import shlex
import signal
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from tests.support.children import workers
from tests.support.processes import data_plane, environment, manager, request, running, stop, wait_for, wait_until
from tests.support.wire import Wire, a_request

LIVE = a_request(target="/wall/health/live")
WORKERS = 2
DESCRIPTORS = 190
LIMIT = DESCRIPTORS - 128


def log_of(home):
    """Return the log without warnings about unconfirmed policy, which workers write since no agent runs."""
    lines = (home / "auth.log").read_text().splitlines(keepends=True)
    return "".join(line for line in lines if "not confirmed" not in line)


def is_up(port):
    with suppress(OSError):
        return request(port, "/wall/health/live").status == 200
    return False


@contextmanager
def master(home, port, *options, prefix="", many=WORKERS, **changes):
    """Run the data plane with extra options; yield once all its workers answer."""
    command = [sys.executable, "-m", "gatewall.server.master", "-c", "deploy/data_plane.conf.py", *options]
    shell = f"{prefix} exec {shlex.join([*command, 'gatewall.data_plane:application()'])}"
    env = environment(home, GATEWALL_AUTH_PORT=str(port), GATEWALL_WORKERS=str(many), **changes)
    with running(["sh", "-c", shell], log=home / "auth.log", env=env) as process:
        wait_for(f"http://127.0.0.1:{port}/wall/health/live", process, home / "auth.log")
        wait_until(lambda: answering(process, many), what="all workers")
        yield process


def answering(process, many):
    """Return whether this many workers exist and each has reported that it accepts connections."""
    found = workers(process)
    with suppress(OSError, ValueError):  # the worker has ended, or still has the files of its siblings
        return len(found) == many and all(heartbeat_length(pid) for pid in found)
    return False


def heartbeat_length(pid):
    """Return the length of a worker's unlinked heartbeat file: 1 once connections are accepted."""
    (heartbeat,) = [each for each in Path(f"/proc/{pid}/fd").iterdir() if "/wgunicorn-" in str(each.readlink())]
    return heartbeat.stat().st_size


@contextmanager
def without_a_place_for_rates(home):
    """Prevent workers from starting during the block."""
    place = home / "run" / "request-rate"
    place.unlink(missing_ok=True)
    place.parent.mkdir(exist_ok=True)
    place.mkdir()
    yield
    place.rmdir()


@contextmanager
def hanging_policy(home):
    """Make workers hang that start during the block."""
    current = home / "policy" / "current"
    current.parent.mkdir(exist_ok=True)
    current.unlink(missing_ok=True)
    os.mkfifo(current)
    yield
    current.unlink()


def successors(process, old):
    found = workers(process) - old
    return found if found and old <= workers(process) else None


def test_a_successor_that_dies_in_a_reload_is_started_again_and_no_old_worker_stays(home, port):
    with master(home, port) as process:
        old = workers(process)
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: workers(process) - old, what="a successor")
        os.kill(min(workers(process) - old), signal.SIGKILL)

        wait_until(lambda: answering(process, WORKERS) and not old & workers(process), what="other workers alone")
        assert is_up(port)


def test_old_workers_end_after_the_grace_if_one_of_two_successors_answers(home, port):
    with master(home, port, "--graceful-timeout", "3") as process:
        old = workers(process)
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: workers(process) - old, what="a successor")
        os.kill(min(workers(process) - old), signal.SIGSTOP)

        wait_until(lambda: not old & workers(process), what="the end of the old ones")
        assert is_up(port)


@pytest.mark.full
def test_old_workers_answer_until_a_successor_does_and_a_stop_ends_all(home, port):
    with master(home, port, "--graceful-timeout", "60", "--timeout", "8") as process:
        old = workers(process)
        with hanging_policy(home):
            process.send_signal(signal.SIGHUP)
            wait_until(lambda: successors(process, old), what="successors")
            wait_until(lambda: "WORKER TIMEOUT" in log_of(home), what="the end of a successor that hangs")
            assert old <= workers(process)
            assert is_up(port)
            process.send_signal(signal.SIGTERM)

            assert process.wait(20) == 0


def test_a_worker_that_cannot_be_built_leaves_the_others_and_is_tried_again(home, port):
    with master(home, port) as process:
        old = workers(process)
        with without_a_place_for_rates(home):
            os.kill(min(old), signal.SIGKILL)
            wait_until(lambda: log_of(home).count("exited with code 3") >= 2, what="two that could not be built")
            assert is_up(port)
            assert process.poll() is None

        wait_until(lambda: answering(process, WORKERS), what="both workers")


def test_a_first_start_that_fails_ends_the_command(home, port):
    env = environment(home, GATEWALL_AUTH_PORT=str(port))
    with (
        without_a_place_for_rates(home),
        running(manager("data_plane"), log=home / "auth.log", env=env) as process,
    ):
        assert process.wait(60) == 3


def test_a_reload_with_settings_that_are_refused_is_one_line_and_all_go_on(home, port):
    with master(home, port) as process:
        old, said = workers(process), log_of(home)
        keys = home / "secrets" / "jwt-keys"
        good = keys.read_bytes()
        keys.write_bytes(b"secretbutbad\n")
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: "not reloaded" in log_of(home), what="the line")
        time.sleep(1.5)

        new = log_of(home)[len(said) :].splitlines()
        assert (len(new), "GATEWALL_JWT_KEYS" in new[0], "secretbutbad" in new[0]) == (1, True, False)
        assert workers(process) == old
        keys.write_bytes(good)
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: answering(process, WORKERS) and not old & workers(process), what="other workers")


def test_gunicorn_options_in_the_environment_have_no_effect(home, port):
    told = "--preload --worker-class sync --bind 127.0.0.1:1"
    with data_plane(home, port, path="/health/live", GATEWALL_WORKERS="1", GUNICORN_CMD_ARGS=told):
        assert "x-gatewall-decision-id" in request(port, "/wall/auth").headers


def test_preloading_is_refused(home, port):
    command = [
        sys.executable,
        "-m",
        "gatewall.server.master",
        "-c",
        "deploy/data_plane.conf.py",
        "--preload",
        "a:b",
    ]
    env = environment(home, GATEWALL_AUTH_PORT=str(port))
    with running(command, log=home / "auth.log", env=env) as process:
        assert process.wait(60) == 2
    assert len(log_of(home).splitlines()) == 1


def test_a_second_master_is_not_started(home, port):
    with master(home, port) as process:
        old = workers(process)
        process.send_signal(signal.SIGUSR2)
        wait_until(lambda: "SIGUSR2" in log_of(home), what="the line")
        time.sleep(0.5)

        assert workers(process) == old


def test_a_stop_answers_requests_under_way_even_if_the_socket_file_is_removed(home):
    unix = home / "auth.sock"
    with data_plane(home, unix=unix, GATEWALL_WORKERS="1") as process:
        wait_until(lambda: answering(process, 1), what="a worker")
        unix.unlink()

        assert stop(process, 30) == 0
        assert "Traceback" not in log_of(home)


def test_a_stop_answers_connections_in_the_backlog(home, port):
    with master(home, port, many=1) as process, ExitStack() as stack:
        (worker,) = workers(process)
        os.kill(worker, signal.SIGSTOP)
        waiting = [stack.enter_context(Wire(port)) for _ in range(30)]
        for wire in waiting:
            wire.send(LIVE)
        process.send_signal(signal.SIGTERM)
        time.sleep(1)
        os.kill(worker, signal.SIGCONT)

        assert [wire.answer().status for wire in waiting] == [200] * 30
        assert process.wait(30) == 0


def test_an_interrupt_of_the_process_group_logs_nothing(home, port):
    with master(home, port) as process:
        said = log_of(home)
        os.killpg(process.pid, signal.SIGINT)

        assert process.wait(30) == 0
        assert log_of(home) == said


def test_workers_survive_a_suspension_of_the_whole_process_group(home, port):
    with master(home, port, "--timeout", "4") as process:
        old = workers(process)
        os.killpg(process.pid, signal.SIGSTOP)
        time.sleep(6)
        os.killpg(process.pid, signal.SIGCONT)
        time.sleep(3)

        assert workers(process) == old
        assert "WORKER TIMEOUT" not in log_of(home)


def test_at_the_limit_new_requests_are_answered_and_idle_connections_are_closed(home, port):
    with master(home, port, prefix=f"ulimit -n {DESCRIPTORS};", many=1) as process, ExitStack() as stack:
        idle = [stack.enter_context(Wire(port)) for _ in range(LIMIT - 5)]
        assert {wire.ask(LIVE).status for wire in idle} == {200}
        (worker,) = workers(process)
        os.kill(worker, signal.SIGSTOP)
        burst = [stack.enter_context(Wire(port)) for _ in range(20)]
        for wire in burst:
            wire.send(LIVE)
        os.kill(worker, signal.SIGCONT)

        assert [wire.answer().status for wire in burst] == [200] * 20


def test_a_full_worker_leaves_connections_to_the_others_and_logs_it_once(home, port):
    with master(home, port, prefix=f"ulimit -n {DESCRIPTORS};") as process, ExitStack() as stack:
        held = min(workers(process))
        os.kill(held, signal.SIGSTOP)
        wires = []
        for at in range(LIMIT + 10):
            wires.append(stack.enter_context(Wire(port)))
            expects = ["Expect: 100-continue"] if at < LIMIT else []
            wires[-1].send(a_request("Content-Length: 3", *expects, method="POST", target="/wall/auth/envoy/"))
            if expects:
                assert wires[-1].socket.recv(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
        wait_until(lambda: "connections are paused" in log_of(home), what="the line")
        os.kill(held, signal.SIGCONT)
        for wire in wires:
            wire.send(b"abc")

        assert {wire.answer().status for wire in wires} <= {302, 401, 403}
        assert log_of(home).count("connections are paused") == 1
