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
