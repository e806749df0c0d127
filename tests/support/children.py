"""The processes that another one has started."""

from contextlib import suppress
from subprocess import Popen

import psutil


def workers(master: Popen[bytes]) -> set[int]:
    """The ids of a master's living children; none if it is gone."""
    with suppress(psutil.NoSuchProcess):
        children = psutil.Process(master.pid).children()
        return {child.pid for child in children if child.status() != psutil.STATUS_ZOMBIE}
    return set()
