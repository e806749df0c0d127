"""Brings the spool of this host to the database, beside the publishing of policy and never in its way."""

import logging
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event, Thread

from django.db import Error, close_old_connections, connection
from django.utils import timezone

from audit import ingest, partitions, retention
from gatewall import system_settings

logger = logging.getLogger(__name__)

_EVERY_SECONDS = 0.25
_HOUSEKEEPING = timedelta(hours=1)


class LogShipper:
    """A thread that ships while this host's agent leads."""

    def __init__(self, spool: Path) -> None:
        self._spool = spool
        self._stop = Event()
        self._thread: Thread | None = None
        self._tidied_at: datetime | None = None
        self._problem = ""

    def start(self) -> None:
        """Ship from now on."""
        self._stop.clear()
        self._thread = Thread(target=self._run, name="log-shipper")
        self._thread.start()

    def stop(self) -> None:
        """Finish the batch at hand and return."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                self.turn()
                self._stop.wait(_EVERY_SECONDS)
        finally:
            connection.close()

    def turn(self) -> None:
        """Ship what is there, and once an hour drop what is too old."""
        try:
            self._tidy(timezone.now())
            ingest.ship(self._spool)
            self._say("")
        except (Error, OSError) as error:
            self._say(f"the access log is not shipped ({type(error).__name__})")
            with suppress(Error):
                close_old_connections()

    def _tidy(self, at: datetime) -> None:
        if self._tidied_at is not None and at - self._tidied_at < _HOUSEKEEPING:
            return
        today = partitions.day_of(at)
        partitions.prepare([today + timedelta(days=number) for number in range(3)], today)
        retention.prune(at, days=system_settings.current().access_log_retention_days)
        self._tidied_at = at

    def _say(self, problem: str) -> None:
        """Log a problem once, and its end."""
        if problem != self._problem:
            logger.log(logging.ERROR if problem else logging.INFO, "agent: %s", problem or "shipping again")
        self._problem = problem
