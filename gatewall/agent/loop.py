"""Background thread of the agent that runs a periodic task and restarts after an unexpected exception."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

from django.db import Error, close_old_connections, connection

from gatewall.database.sqlite.changes import LONGEST_SECONDS
from gatewall.kernel.log_lines import ProblemLog


class Loop:
    """Base class of the agent's threads: subclasses implement ``_work``.

    A turn follows ``every_seconds`` after the last one. A thread that has nothing to do (``_is_idle``) waits until the
    agent wakes it because the database has changed, and then takes a turn only if it has something to do.
    """

    name: str
    every_seconds: float
    join_seconds: float | None = None
    """How long stopping waits for the current turn; None: until the turn ends. With a number the thread is a daemon, so
    that a slow server does not keep the agent from exiting."""
    failing: str
    """Log text while turns fail: what is not done."""
    recovered: str

    def __init__(self) -> None:
        self._stop = Event()
        self._news = Event()
        self._has_news = True
        """Whether the database may have changed since the turn before the current one."""
        self._is_waiting = False
        """Whether the last check found nothing to do, so that only a change of the database can make a turn due."""
        self._thread: Thread | None = None
        self._log = ProblemLog(logging.getLogger(type(self).__module__), "agent: ", self.recovered)

    @property
    def problem(self) -> str:
        """The current error, or empty."""
        return self._log.problem

    @contextmanager
    def running(self) -> Iterator[None]:
        self._stop.clear()
        self._start()
        try:
            yield
        finally:
            self._stop.set()
            self._news.set()
            if self._thread is not None:
                self._thread.join(self.join_seconds)

    def wake(self) -> None:
        """Start the next turn soon, because the database may have changed. Thread-safe."""
        self._news.set()

    def keep_going(self) -> None:
        """Restart the thread after an unexpected exception, which Python wrote to stderr."""
        if self._thread is not None and not self._thread.is_alive() and not self._stop.is_set():
            self._log.say(f"{self.failing} (a bug)")
            self._start()

    def turn(self) -> None:
        """Run the task once. Database and file errors are logged once, and the next turn retries."""
        try:
            self._work()
            self._log.say("")
        except (Error, OSError) as error:
            self._failed(error)

    def _start(self) -> None:
        self._has_news, self._is_waiting = True, False
        is_daemon = self.join_seconds is not None
        self._thread = Thread(target=self._run, name=self.name, daemon=is_daemon)
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                self._is_waiting = self._is_waiting and self._has_news and self._is_surely_idle()
                if not self._is_waiting:
                    self.turn()
                self._pause()
                self._has_news = self._take_news()
            self._finish()
        finally:
            connection.close()

    def _take_news(self) -> bool:
        """Return whether ``wake()`` was called since the last call; a later call counts for the next turn."""
        is_woken = self._news.is_set()
        if is_woken:
            self._news.clear()
        return is_woken

    def _work(self) -> None:
        raise NotImplementedError

    def _is_idle(self) -> bool:
        """Return whether the next turn has nothing to do unless the database changes. Raises django.db.Error."""
        return False

    def _pause(self) -> None:
        self._rest()
        if not (self.problem or self._stop.is_set() or self._news.is_set()):
            self._is_waiting = self._is_waiting or self._is_surely_idle()
            if self._is_waiting:
                self._news.wait(LONGEST_SECONDS)

    def _rest(self) -> None:
        self._stop.wait(self.every_seconds)

    def _is_surely_idle(self) -> bool:
        try:
            return not self._news.is_set() and self._is_idle()
        except Error:
            return False

    def _finish(self) -> None:
        """Complete pending work after the last turn."""

    def _failed(self, error: Exception) -> None:
        self._log.say(f"{self.failing} ({type(error).__name__})")
        with suppress(Error):
            close_old_connections()
