"""Worker processes for numbered tasks: forks of this process, which share its compiled policies.

Each worker takes every n-th task and sends progress and results over a pipe, as JSON. Workers are killed when the
caller stops reading the results, and by the kernel when this process dies.
"""

import ctypes
import gc
import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from types import TracebackType
from typing import Any

from django.db import Error, connections

from gatewall.engine.messages import Message
from gatewall.engine.messages import gettext_noop as _

MAX_PROCESSES = 4
_PR_SET_PDEATHSIG = 1
_WAIT_SECONDS = 1.0
_SHOWABLE = (Error, OSError)
"""Errors whose text may be shown; the text of other errors may contain parts of a request."""
_FORK = get_context("fork")

Report = Callable[[int], None]
Work = Callable[[int, Report], dict[str, Any]]
"""A task: gets its number and a function to report progress with, returns JSON."""


class WorkerFailed(Exception):
    """A worker process ended without its results; ``message`` is the reason."""

    def __init__(self, message: Message) -> None:
        super().__init__(message)
        self.message = message


def number_of_processes(tasks: int) -> int:
    """Return how many processes to use: as many as there are cores for this process, at most four."""
    return max(1, min(len(os.sched_getaffinity(0)), MAX_PROCESSES, tasks))


def results_of(tasks: int, work: Work, *, processes: int, on_progress: Report) -> Iterator[dict[str, Any]]:
    """Yield the results of the tasks, in their order; with one process, they run in this one. Raises WorkerFailed.

    ``on_progress`` is called in this process, about every second or more often, with the progress reported since.
    With several processes, the database connections of this process are closed.
    """
    if processes == 1:
        for number in range(tasks):
            yield work(number, on_progress)
        return
    connections.close_all()  # a connection does not survive a fork
    workers = dict[Connection, ForkProcess]()
    try:
        for first in range(processes):
            workers.update([_started(work, range(first, tasks, processes))])
        yield from _in_order(workers, tasks, on_progress)
    finally:
        for process in workers.values():
            process.kill()
            process.join()


def _in_order(workers: dict[Connection, ForkProcess], tasks: int, on_progress: Report) -> Iterator[dict[str, Any]]:
    results, following, reading = dict[int, dict[str, Any]](), 0, list(workers)
    while following < tasks:
        ready, progress = set(wait(reading, _WAIT_SECONDS)), 0
        for pipe in [each for each in reading if each in ready]:
            message = _received(pipe, workers[pipe])
            progress += message.get("progress", 0)
            if "task" in message:
                results[message["task"]] = message["result"]
            elif "ended" in message:
                reading.remove(pipe)
        on_progress(progress)
        while following in results:
            yield results.pop(following)
            following += 1


def _received(pipe: Connection, process: ForkProcess) -> dict[str, Any]:
    """Return the next message of a worker. Raises WorkerFailed."""
    try:
        message: dict[str, Any] = json.loads(pipe.recv_bytes())
    except (EOFError, OSError):
        process.join()
        words = _("a worker process ended early (exit code %(code)s)")
        raise WorkerFailed(Message(words, code=process.exitcode)) from None
    if "error" in message:
        raise WorkerFailed(Message(_("a worker process failed: %(why)s"), why=message["error"]))
    return message


def _started(work: Work, numbers: range) -> tuple[Connection, ForkProcess]:
    ours, theirs = Pipe(duplex=False)
    process = _FORK.Process(target=_run, args=(work, numbers, theirs, os.getpid()), daemon=True)
    process.start()
    theirs.close()  # so that the pipe ends with the worker
    return ours, process


def _run(work: Work, numbers: range, pipe: Connection, parent: int) -> None:
    """Run the tasks of a worker, in the worker."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # the parent died before prctl: no signal will come any more
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, signal.SIG_IGN)  # a service manager signals all processes; the parent decides for us
    gc.freeze()  # the collector would copy the memory that is shared with the parent
    with _ErrorReport(pipe):
        for number in numbers:
            result = work(number, lambda done: _send(pipe, {"progress": done}))
            _send(pipe, {"task": number, "result": result})
        _send(pipe, {"ended": True})


def _send(pipe: Connection, message: dict[str, Any]) -> None:
    pipe.send_bytes(json.dumps(message).encode())


class _ErrorReport(AbstractContextManager[None]):
    """Sends an exception of the block to the parent; Python then prints the traceback and ends the process."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            why = f"{kind.__name__}: {error}" if issubclass(kind, _SHOWABLE) else kind.__name__
            _send(self._pipe, {"error": why})
