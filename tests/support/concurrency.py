"""Many concurrent callers, in several processes and threads, against one database."""

import json
import os
import threading
import warnings
from collections.abc import Callable
from typing import Any

from django.db import connections

PROCESSES, THREADS = 4, 5


def at_once(work: Callable[[int], Any], times: int) -> list[Any]:
    """Call ``work`` with each number below ``times``, all at once; return the results after a JSON round trip.

    The processes are forks of this one.
    """
    connections.close_all()  # a connection must not be used after a fork
    start, go = os.pipe()
    reports = [_a_process(work, range(number, times, PROCESSES), start, go) for number in range(PROCESSES)]
    os.close(start)
    os.close(go)  # releases all workers
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
        # Newer Pythons warn of a fork in a multi-threaded process (xdist); the child uses none of its threads.
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
        os._exit(0)  # skip the teardown of the parent's fixtures


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
    except Exception as error:  # noqa: BLE001 - returned to the test
        return f"{type(error).__name__}: {error}"
