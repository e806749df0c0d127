"""Background thread that takes a turn every few seconds while this host's agent leads, and restarts after a bug."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

from django.db import Error, close_old_connections, connection

from gatewall.kernel.log_lines import ProblemLog


class Loop:
    """Base of the agent's threads: a subclass says what its turn does, and how long the end waits for it."""

    name: str
    every_seconds: float
    join_seconds: float | None = None
    """How long the end of the block waits for the turn at hand. None: until it ends; any other thread is a daemon,
    so that a slow server does not keep the agent from ending."""
    failing: str
    """What does not happen while turns fail, as a log line says it."""
    recovered: str

    def __init__(self) -> None:
        self._stop = Event()
        self._thread: Thread | None = None
        self._log = ProblemLog(logging.getLogger(type(self).__module__), "agent: ", self.recovered)

    @property
    def problem(self) -> str:
        """Why turns fail at the moment, or nothing."""
        return self._log.problem

    @contextmanager
    def running(self) -> Iterator[None]:
        """Take turns until the end of the block."""
        self._stop.clear()
        self._start()
        try:
            yield
        finally:
            self._stop.set()
            if self._thread is not None:
                self._thread.join(self.join_seconds)

    def keep_going(self) -> None:
        """Start again if the thread ended by a bug, which Python has written to stderr."""
        if self._thread is not None and not self._thread.is_alive() and not self._stop.is_set():
            self._log.say(f"{self.failing} (a bug)")
            self._start()

    def turn(self) -> None:
        """Do what is due. An error of the database or of files is logged once; the next turn tries again."""
        try:
            self._work()
            self._log.say("")
        except (Error, OSError) as error:
            self._failed(error)

    def _start(self) -> None:
        is_daemon = self.join_seconds is not None
        self._thread = Thread(target=self._run, name=self.name, daemon=is_daemon)
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                self.turn()
                self._pause()
            self._finish()
        finally:
            connection.close()

    def _work(self) -> None:
        raise NotImplementedError

    def _pause(self) -> None:
        self._stop.wait(self.every_seconds)

    def _finish(self) -> None:
        """Do what is left after the last turn."""

    def _failed(self, error: Exception) -> None:
        self._log.say(f"{self.failing} ({type(error).__name__})")
        with suppress(Error):
            close_old_connections()
