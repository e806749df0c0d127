"""Loaded by every Python whose PYTHONPATH has this folder: sets its wall clock as a file says, and no other clock.

``GATEWALL_HOME/clock-NAME`` holds the seconds by which the clock of the process NAME (``TESTS_PROCESS``) is ahead, of
it and of its workers. What is not Python, as the database, the disk and the kernel, keeps the true time.
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
    # Before there is a thread: a process that is forked while one imports waits for its import for ever.
    import time_machine

    _start()
    os.register_at_fork(after_in_child=_start)  # a fork copies no thread
