"""Shift the wall clock of Python processes by the seconds in a file; on PYTHONPATH, loaded by each of them.

``GATEWALL_HOME/clock-NAME`` holds the offset of the process NAME (``TESTS_PROCESS``) and its workers. Other clocks,
the database, the file system and the kernel keep the true time.
"""

import os
import threading
import time
from pathlib import Path

_sleep = time.sleep


def _follow(path: Path) -> None:
    travel, ahead = None, 0.0
    while True:
        try:
            wanted = float(path.read_text() or 0)
        except (OSError, ValueError):
            wanted = ahead
        if wanted != ahead:
            if travel is not None:
                travel.stop()
                travel = None
            if wanted:
                travel = time_machine.travel(time.time() + wanted, tick=True)
                travel.start()
            ahead = wanted
        _sleep(0.1)


def _start() -> None:
    path = Path(os.environ["GATEWALL_HOME"]) / f"clock-{os.environ['TESTS_PROCESS']}"
    threading.Thread(target=_follow, args=(path,), name="clock", daemon=True).start()


if "TESTS_PROCESS" in os.environ:
    # Before any thread starts: a process forked during an import would wait for its lock forever.
    import time_machine

    _start()
    os.register_at_fork(after_in_child=_start)  # threads do not survive a fork
