"""Processes that are forked for tests end, write and hear signals like those of `subprocess`."""

import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from tests.support import command_server
from tests.support.processes import PATIENCE, agent, environment


def code(text, home, timeout=PATIENCE):
    return command_server.run([], env=environment(home), code=text, timeout=timeout)


@pytest.mark.parametrize(
    ("text", "ending"),
    [("raise SystemExit(3)", 3), ("import os; os.kill(os.getpid(), 9)", -9), ("1 / 0", 1), ("", 0)],
)
def test_the_exit_code_is_that_of_the_process(tmp_path, text, ending):
    assert code(text or "pass", tmp_path).returncode == ending


def test_output_and_errors_are_separate_and_several_run_at_once(tmp_path):
    text = "import sys, time; print({0}); time.sleep(0.2); print(-{0}, file=sys.stderr)"
    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda number: code(text.format(number), tmp_path), range(1, 5)))

    assert [(run.stdout, run.stderr) for run in runs] == [(f"{number}\n", f"-{number}\n") for number in range(1, 5)]


def test_what_takes_too_long_is_killed(tmp_path):
    code("pass", tmp_path)
    before = set(psutil.Process().children(recursive=True))
    with pytest.raises(subprocess.TimeoutExpired):
        code("import time; time.sleep(600)", tmp_path, timeout=0.1)

    assert set(psutil.Process().children(recursive=True)) <= before


def test_an_agent_has_a_session_of_its_own_and_its_environment(home):
    with agent(home) as process:
        assert os.getsid(process.pid) == process.pid
        assert process.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.05)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == process.returncode == 0
        process.kill()  # nothing is left to kill
