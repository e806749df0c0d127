"""The supervisor of `gatewall up` with misbehaving processes. Real planes under it: tests/servers/test_up.py."""

import json
import os
import re
import signal
import subprocess
import sys

import psutil
import pytest

from gatewall.install import readiness, supervisor
from tests.support.processes import PATIENCE, wait_until

WAITS = "import time; time.sleep(600)"
READY = "import os; os.write(1, b'ready\\n')"  # in one write: it shares the supervisor's output


@pytest.fixture(autouse=True)
def _hears_hang_ups():
    """Let child processes handle SIGHUP even under nohup: ignored signals are inherited."""
    before = signal.signal(signal.SIGHUP, lambda *_: None)
    yield
    signal.signal(signal.SIGHUP, before)


def python(name, code):
    return [name, [sys.executable, "-c", code], {}]


def worker(name, code, hang_seconds=60.0, path=""):
    """A plane's only worker: `beat` is its heartbeat file."""
    listening, heartbeat = (os.memfd_create(each) for each in ("listening", "heartbeat"))
    for each in (listening, heartbeat):
        os.set_inheritable(each, True)
    prepared = f"import os, sys, time; beat = {heartbeat}; {code}"
    return [*python(name, prepared), [listening, heartbeat], hang_seconds, str(path)]


def supervise(readiness, *rows):
    """Start the supervisor with a readiness process and others, each a line of Python."""
    table = [python("readiness", readiness), *rows]
    return subprocess.Popen(
        [sys.executable, "-P", supervisor.__file__, json.dumps(table)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        close_fds=False,
    )


def finished(process):
    """Return code, lines without the time, and errors of a supervisor that ended."""
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, [re.sub(r"^[\d:]{8} ", "", line) for line in out.splitlines()], err


def test_imports_only_the_standard_library():
    """The memory of its imports is used for as long as the gateway runs."""
    code = (
        f"import sys, runpy; runpy.run_path({supervisor.__file__!r}); print(*{{n.split('.')[0] for n in sys.modules}})"
    )
    run = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)

    ours = set(run.stdout.split()) - sys.stdlib_module_names
    assert not {name for name in ours if not name.startswith(("_", "sitecustomize", "usercustomize"))}
    assert not {"asyncio", "http", "ssl", "logging"} & set(run.stdout.split())


def test_output_is_prefixed_with_the_name_even_without_a_final_newline():
    noisy = python("noisy", "import sys; print('one'); sys.stderr.write('two\\n'); print('three', end='')")

    code, lines, err = finished(supervise(READY, noisy))

    assert [line for line in lines if line.startswith("noisy")] == ["noisy  | one", "noisy  | two", "noisy  | three"]
    assert (code, err) == (1, "Stopped everything: noisy ended (code 0).\n")


@pytest.mark.parametrize(
    ("file", "arguments", "last"),
    [
        (readiness.__file__, ["[]", '["one", "two"]'], b"one\ntwo\n"),
        (supervisor.__file__, [json.dumps([python("readiness", "pass"), python("a", "pass")])], b" (rc=0)\n"),
    ],
    ids=["readiness", "supervisor"],
)
def test_each_line_is_one_write(file, arguments, last):
    reading, writing = os.pipe2(os.O_DIRECT)  # a read returns the bytes of one write (pipe(2))
    environment, command = {**os.environ, "PYTHONUNBUFFERED": "1"}, [sys.executable, "-P", file, *arguments]
    with os.fdopen(writing, "wb") as output:
        subprocess.run(command, stdout=output, stderr=subprocess.DEVNULL, env=environment, check=False)
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        writes = list(iter(lambda: pipe.read(4096), b""))

    assert all(each.endswith(b"\n") for each in writes), writes
    assert writes[-1].endswith(last)


def test_invalid_utf_8_and_very_long_lines_are_passed_on():
    code = "import os; os.write(1, b'\\xff\\n' + b'a' * 300_000 + b'\\n')"

    _, lines, _ = finished(supervise("pass", python("odd", code)))  # readiness writes nothing in between

    texts = [line.removeprefix("odd    | ") for line in lines if line.startswith("odd")]
    assert texts[0] == "\N{REPLACEMENT CHARACTER}"
    assert sum(len(text) for text in texts[1:]) == 300_000


def test_failed_readiness_stops_everything_with_its_message():
    code, lines, err = finished(supervise("import sys; sys.exit('it did not answer')", python("one", WAITS)))

    assert (code, err) == (1, "Stopped everything: it did not answer.\n")
    assert any(re.fullmatch(r"system \| one stopped \(rc=-15\)", line) for line in lines)


def test_children_of_a_dead_process_are_killed():
    orphan = f"import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', {WAITS!r}]).pid)"

    _, lines, _ = finished(supervise(READY, python("mother", orphan), python("other", WAITS)))

    (number,) = [int(line.partition("| ")[2]) for line in lines if line.startswith("mother")]
    wait_until(lambda: not psutil.pid_exists(number), what="the end of the orphan")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
def test_signal_stops_all_with_0_also_before_they_are_ready(number):
    process = supervise(WAITS, python("one", "print('up'); " + WAITS))
    assert process.stdout is not None
    wait_until(lambda: "| up" in process.stdout.readline(), what="its output")

    process.send_signal(number)
    code, lines, err = finished(process)

    assert (code, err) == (0, "")
    assert f"system | {number.name} received" in lines


def test_hang_up_is_ignored_under_nohup():
    row = python("one", "print('up'); " + WAITS)
    table = json.dumps([python("readiness", READY), row])
    command = [sys.executable, "-P", supervisor.__file__, table]
    with subprocess.Popen(["nohup", *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        wait_until(lambda: "| up" in process.stdout.readline(), what="its output")
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=PATIENCE)

    assert process.returncode == 0
    assert "SIGHUP" not in out


def test_signal_that_arrives_before_it_has_handlers_is_not_lost():
    """`gatewall up` blocks signals before it becomes the supervisor."""
    table = json.dumps([python("readiness", WAITS), python("one", WAITS)])

    def blocked():
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        os.kill(os.getpid(), signal.SIGTERM)

    run = subprocess.run(
        [sys.executable, "-P", supervisor.__file__, table],
        preexec_fn=blocked,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )

    assert (run.returncode, "SIGTERM received" in run.stdout) == (0, True)


IS_READY = "os.ftruncate(beat, 1); os.utime(beat, (time.monotonic(),) * 2)"


def test_a_worker_that_was_ready_is_started_again_and_its_socket_removed_at_the_end(tmp_path):
    socket_path = tmp_path / "socket"
    socket_path.touch()
    process = supervise(READY, worker("auth", f"{IS_READY}; os._exit(7)", path=socket_path), python("other", WAITS))
    assert process.stdout is not None
    wait_until(lambda: "auth started" in process.stdout.readline(), what="a first worker")

    wait_until(lambda: "auth started" in process.stdout.readline(), what="another worker")
    process.send_signal(signal.SIGTERM)
    code, _, err = finished(process)

    assert (code, err, socket_path.exists()) == (0, "", False)


def test_a_worker_that_never_was_ready_ends_everything():
    code, _, err = finished(supervise(READY, worker("auth", "sys.exit(3)"), python("other", WAITS)))

    assert (code, err) == (1, "Stopped everything: auth ended (code 3).\n")


def test_a_worker_that_shows_no_sign_of_life_is_killed():
    process = supervise(READY, worker("auth", f"{IS_READY}; time.sleep(600)", hang_seconds=0.5))
    assert process.stdout is not None
    wait_until(lambda: "auth does not respond" in process.stdout.readline(), what="the killing")

    wait_until(lambda: "auth started" in process.stdout.readline(), what="another worker")
    process.send_signal(signal.SIGTERM)

    assert finished(process)[0] == 0
