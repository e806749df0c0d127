"""The agent runs each backtest in a process of its own; if that is killed, the backtest is marked as failed."""

import os
import signal
import sqlite3
import time
from contextlib import closing, contextmanager, suppress

import psutil
import pytest

from gatewall.install.ports import free_port
from tests.support.processes import agent, control_plane, prepare, send, token_of, wait_until

BLOCK = {"resource": "ip-black-list", "values": {"ip": "203.0.113.7"}}


@pytest.fixture
def home(tmp_path):
    prepare(tmp_path)
    return tmp_path


@contextmanager
def writers_kept_out(home):
    """Hold the write lock of SQLite during the block."""
    (path,) = home.glob("*.sqlite3")
    with closing(sqlite3.connect(path, isolation_level=None, timeout=30)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


def processes_of(run, agent_id):
    """Return the ids of this agent's processes of this backtest; backtests of other tests may have the same id."""
    found = []
    for process in psutil.Process(agent_id).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            words = process.cmdline()
            if "backtest" in words and str(run) in words and "--claim" in words:
                found.append(process.pid)
    return found


def killed_under_way(home, agent_id, run, shown):
    """Kill the process of this backtest; return its id, or None if the backtest ended before it could be killed."""
    wait_until(
        lambda: processes_of(run, agent_id) or shown(run)["state"] not in {"queued", "running"}, what="its process"
    )
    wait_until(lambda: shown(run)["state"] != "queued", what="its begin")
    with writers_kept_out(home):  # so that the backtest cannot end meanwhile
        if shown(run)["state"] != "running":
            return None
        process = min(processes_of(run, agent_id))  # a child has the same command line until it executes its own
        assert os.getpriority(os.PRIO_PROCESS, process) >= os.getpriority(os.PRIO_PROCESS, 0) + 5
        os.kill(process, signal.SIGKILL)
    return run


def test_a_backtest_is_run_to_its_end_and_one_whose_process_is_killed_is_failed(home):
    port = free_port()
    with control_plane(home, port, GATEWALL_WORKERS="1"):
        token = token_of(port)

        def ask():
            return send(port, token, "POST", "/policy/backtest", BLOCK)["id"]

        def shown(run):
            return send(port, token, "GET", f"/policy/backtest/{run}")

        first = ask()
        time.sleep(0.5)
        assert shown(first)["state"] == "queued"  # no process runs it yet
        with agent(home) as runner:
            wait_until(lambda: shown(first)["state"] not in {"queued", "running"}, what="the end of a backtest")
            assert shown(first)["state"] == "finished"
            assert shown(first)["result"]["read"] == shown(first)["progress"]["total"]

            second = None
            while second is None:
                second = killed_under_way(home, runner.pid, ask(), shown)
            wait_until(lambda: shown(second)["state"] != "running", what="what became of it")

        assert shown(second)["state"] == "failed"
        assert "its process ended early (exit code -9)" in shown(second)["failure"]
