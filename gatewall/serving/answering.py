"""What a worker of either plane tells its master, and how it ends with it."""

import ctypes
import os
import signal
import time

from gunicorn.workers.base import Worker

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)
_PR_SET_PDEATHSIG = 1
_START_TIMEOUTS = 6
"""How many timeouts a worker may take to start: a large policy takes longer to read than an answer to give."""


class AnsweringWorker(Worker):  # type: ignore[misc] # gunicorn has no types
    """A worker whose heartbeat file says when it was last alive and, by its length, whether it answers."""

    @property
    def answers(self) -> bool:
        """True from when the worker accepts connections."""
        return os.fstat(self.tmp.fileno()).st_size > 0

    def init_process(self) -> None:
        """Have the kernel end this worker when its master is gone: an orphan would keep the port."""
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != self.ppid:
            os._exit(1)  # it was killed before the kernel knew: no signal will come any more
        # Without a first heartbeat the master would wait for ever for a worker that hangs while it starts.
        allowed = time.monotonic() + (_START_TIMEOUTS - 1) * self.cfg.timeout
        os.utime(self.tmp.fileno(), (allowed, allowed))
        super().init_process()

    def init_signals(self) -> None:
        """End at once when told to, until connections are accepted: also in a call of the system that hangs.

        Nothing is under way yet, and an exception in the midst of an import may become another one, or none.
        """
        super().init_signals()
        for each in ENDING:
            signal.signal(each, lambda *_: os._exit(0))

    def say_it_answers(self) -> None:
        """Tell the master that connections are accepted; ``run`` calls it."""
        os.ftruncate(self.tmp.fileno(), 1)
