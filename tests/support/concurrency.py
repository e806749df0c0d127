"""Many callers at once, in several processes with several threads each, against one database."""

import json
import os
import threading
import warnings
from collections.abc import Callable
from typing import Any

from django.db import connections

PROCESSES, THREADS = 4, 5


def at_once(work: Callable[[int], Any], times: int) -> list[Any]:
    """Call ``work`` with each number below ``times`` and return what it returned, as JSON gives it back.

    The processes are copies of this one. All threads begin together.
    """
    connections.close_all()  # a connection does not survive a fork
    start, go = os.pipe()
    reports = [_a_process(work, range(number, times, PROCESSES), start, go) for number in range(PROCESSES)]
    os.close(start)
    os.close(go)  # which is what they wait for
    results = []
    for pid, report in reports:
        with os.fdopen(report) as lines:
            results += json.loads(lines.read() or "[]")
        os.waitpid(pid, 0)
    assert len(results) == times, "a process has died"
    return results


def _a_process(work: Callable[[int], Any], numbers: range, start: int, go: int) -> tuple[int, int]:
    report, end = os.pipe()
    with warnings.catch_warnings():
        # Newer Pythons warn of a fork among threads, as a process of xdist has one: the copy uses nothing of that one.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid:
        os.close(end)
        return pid, report
    try:
        os.close(go)
        os.read(start, 1)
        results = _in_threads(work, list(numbers))
        with os.fdopen(end, "w") as lines:
            json.dump(results, lines)
    finally:
        os._exit(0)  # no fixture of the copied process is torn down


def _in_threads(work: Callable[[int], Any], numbers: list[int]) -> list[Any]:
    results = []

    def take_turns(own: list[int]) -> None:
        try:
            results.extend([_outcome(work, number) for number in own])
        finally:
            connections.close_all()

    threads = [threading.Thread(target=take_turns, args=[numbers[part::THREADS]]) for part in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def _outcome(work: Callable[[int], Any], number: int) -> Any:
    try:
        return work(number)
    except Exception as error:  # noqa: BLE001 - what went wrong is told to the test
        return f"{type(error).__name__}: {error}"
