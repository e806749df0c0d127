"""Thread that fetches subscribed lists while this host's agent leads."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

from django.db import Error, close_old_connections, connection
from django.utils import timezone

from policies.lists import fetching

logger = logging.getLogger(__name__)

_EVERY_SECONDS = 15.0
_JOIN_SECONDS = 5.0


class ListFetcher:
    """A thread that fetches while this host's agent leads; of several hosts, one gets each list."""

    def __init__(self) -> None:
        self._stop = Event()
        self._stop.set()
        self._thread = Thread()

    @contextmanager
    def fetching(self) -> Iterator[None]:
        """Fetch until the end of the block; a list that does not come to its end soon is left as it is."""
        self._stop.clear()
        self._start()
        try:
            yield
        finally:
            self._stop.set()
            self._thread.join(_JOIN_SECONDS)

    def keep_going(self) -> None:
        """Start again if the thread ended by a bug, which Python has written to stderr."""
        if not self._thread.is_alive() and not self._stop.is_set():
            self._start()

    def _start(self) -> None:
        # A daemon: who waits for a slow server must not keep the agent from ending. A transaction that is
        # cut off is rolled back, and the list is fetched again after its lease.
        self._thread = Thread(target=self._run, name="list-fetcher", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                self.turn()
                self._stop.wait(_EVERY_SECONDS)
        finally:
            connection.close()

    def turn(self) -> None:
        """Fetch every list that is due."""
        try:
            while fetching.fetch_next(timezone.now(), self._stop.is_set) and not self._stop.is_set():
                pass
        except Error as error:
            logger.error("lists are not fetched (%s)", type(error).__name__)  # noqa: TRY400 - the words say it all
            with suppress(Error):
                close_old_connections()
