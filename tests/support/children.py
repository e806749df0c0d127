"""Child processes of a process."""

from contextlib import suppress

import psutil

from tests.support.processes import Process


def workers(master: Process) -> set[int]:
    """Return the ids of a master's running children; none if it has ended."""
    with suppress(psutil.NoSuchProcess):
        children = psutil.Process(master.pid).children()
        return {child.pid for child in children if child.status() != psutil.STATUS_ZOMBIE}
    return set()


def is_alive(process: psutil.Process) -> bool:
    """Return whether a process runs, so that its sockets are open.

    A zombie does not run; when it is reaped depends on the machine's init process. A zombie with other threads is
    still ending: its last thread closes the files.
    """
    with suppress(psutil.NoSuchProcess):
        is_zombie = process.status() == psutil.STATUS_ZOMBIE
        return bool(process.is_running() and (not is_zombie or process.num_threads() > 1))
    return False
