"""Thread that ships this host's spool to the database while its agent leads."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event, Thread

from django.conf import settings
from django.db import Error, close_old_connections, connection
from django.utils import timezone

from audit.spool.segments import Looked, waiting_bytes
from audit.storage import ingest, partitions, retention, shortening
from gatewall.agent.detection import Watch
from gatewall.database.sqlite.upkeep import Upkeep
from gatewall.policy import system_settings
from gatewall.publication.nodes import LogState
from gatewall.snapshot.places import node_name

logger = logging.getLogger(__name__)

_EVERY_SECONDS = 0.25
_RETRY_SECONDS = 2.0
_HOUSEKEEPING = timedelta(hours=1)
_PRUNED_AT_ONCE = 2_000
"""In each turn, between which new records are shipped."""
_POSITIONS = timedelta(days=30)
"""For so long after its last record it is known how far a file was read that is gone."""


class LogShipper:
    """A thread that ships while this host's agent leads."""

    def __init__(self, spool: Path) -> None:
        self._spool = spool
        self._stop = Event()
        self._stop.set()
        self._thread = Thread()
        self._tidied_at: datetime | None = None
        self._complete_until: float | None = None
        self._looked: Looked = {}
        self._upkeep = Upkeep()
        self._budget = shortening.Budget()
        self._watch = Watch(settings.GATEWALL_TRUSTED_PROXIES)
        self.problem = ""
        """Why nothing is shipped at the moment, or nothing."""

    @contextmanager
    def shipping(self) -> Iterator[None]:
        """Ship until the end of the block, which waits for the batch at hand."""
        self._stop.clear()
        self._start()
        try:
            yield
        finally:
            self._stop.set()
            self._thread.join()

    def keep_going(self) -> None:
        """Start again if the thread ended by a bug, which Python has written to stderr."""
        if not self._thread.is_alive() and not self._stop.is_set():
            self._say("the access log is not shipped (a bug)")
            self._start()

    def _start(self) -> None:
        self._thread = Thread(target=self._run, name="log-shipper")
        self._thread.start()

    def state(self) -> LogState:
        """Return how far the last pass came, and what waits at this moment."""
        lag = None if self._complete_until is None else time.monotonic() - self._complete_until
        return LogState(lag, waiting_bytes(self._spool, self._looked))

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                self.turn(self._stop.is_set)
                self._stop.wait(_RETRY_SECONDS if self.problem else _EVERY_SECONDS)
        finally:
            connection.close()

    def turn(self, should_stop: ingest.Stop = lambda: False) -> None:
        """Ship what is there, until told to stop; once an hour, delete what is too old, a part in each turn."""
        began = time.monotonic()
        doing = "shipped"
        try:
            ingest.ship(self._spool, self._looked, should_stop, self._watch.saw)
            doing = "looked through"
            self._watch.turn(timezone.now())
            if should_stop():
                return
            self._complete_until = began
            doing = "tidied up"
            self._tidy(timezone.now())
            self._upkeep.turn()
            self._shorten(timezone.now())
            self._say("")
        except (Error, OSError) as error:
            self._say(f"the access log is not {doing} ({type(error).__name__})")
            with suppress(Error):
                close_old_connections()

    def _tidy(self, at: datetime) -> None:
        if self._tidied_at is not None and abs(at - self._tidied_at) < _HOUSEKEEPING:  # a clock is set back, too
            return
        today = partitions.day_of(at)
        partitions.prepare([today + timedelta(days=number) for number in range(3)], today)
        kept = system_settings.current()
        ingest.forget(self._spool, node_name(), at - _POSITIONS)
        logs = retention.prune(at, days=kept.access_log_retention_days, at_most=_PRUNED_AT_ONCE)
        events = retention.prune_events(at, days=kept.event_retention_days, at_most=_PRUNED_AT_ONCE)
        if logs.is_all and events.is_all:
            self._tidied_at = at

    def _shorten(self, at: datetime) -> None:
        done = self._budget.turn(at, system_settings.current().access_log_max_bytes)
        if done.days:
            logger.warning("agent: the access log is too large: its oldest day was dropped")

    def _say(self, problem: str) -> None:
        """Log a problem once, and its end."""
        if problem != self.problem:
            logger.log(logging.ERROR if problem else logging.INFO, "agent: %s", problem or "shipping again")
        self.problem = problem
