"""Thread that ships this host's spool to the database while its agent leads."""

import logging
import os
import time
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from audit.spool.segments import Looked, waiting_bytes
from audit.storage import ingest, partitions, retention, shortening
from gatewall.agent.detection import AttackDetection
from gatewall.agent.loop import Loop
from gatewall.database.sqlite.changes import LONGEST_SECONDS, DatabaseChanges
from gatewall.database.sqlite.upkeep import Upkeep
from gatewall.policy import system_settings
from gatewall.publication.nodes import LogState
from gatewall.snapshot.host_paths import node_name

logger = logging.getLogger(__name__)

_RETRY_SECONDS = 2.0
_IDLE_SECONDS = 0.5
"""How often the spool is checked while nothing is written; a new record is still stored within a second."""
_STORED_SECONDS = 0.7
"""Maximum age of the records of a batch, unless storing takes long; longer batches are fewer and cost less."""
_DELAYS, _DECAY = 4, 0.9
"""Number of delays of a record besides the pause: the turn before it, the wake-up, its own turn, reading the row."""
_UPKEEP_SECONDS, _UPKEEP_ROWS = 5.0, 500
"""How often SQLite's files are maintained, and after how many rows at the latest: other processes write, too."""
_HOUSEKEEPING = timedelta(hours=1)
_PRUNED_AT_ONCE = 2_000
"""Maximum number of rows deleted per turn; new records are shipped between the turns."""
_POSITIONS = timedelta(days=30)
"""How long read positions of deleted files are kept after their last record."""


def _files_of(spool: Path) -> frozenset[tuple[str, int, int]] | None:
    """Return name, size and time of the last write of the spool's files; None if they cannot be read."""
    try:
        with os.scandir(spool) as entries:
            return frozenset(
                (each.name, status.st_size, status.st_mtime_ns) for each in entries for status in [each.stat()]
            )
    except OSError:
        return None


class LogShipper(Loop):
    """Ships the spool; hourly, deletes old rows in batches. Stopping waits for the current batch.

    The rows that it stores do not wake the other threads of the agent, unless a webhook needs a notice about them.
    """

    name = "log-shipper"
    every_seconds = 0.25
    failing = "the access log is not shipped"
    recovered = "shipping again"

    def __init__(self, spool: Path) -> None:
        super().__init__()
        self.changes = DatabaseChanges()
        self._spool = spool
        self._tidied_at: datetime | None = None
        self._complete_until: float | None = None
        self._looked: Looked = {}
        self._before: frozenset[tuple[str, int, int]] | None = None
        """The spool's files before the last turn: name, size and time of the last write."""
        self._has_more = True
        self._turned_at = float("-inf")
        self._delay_seconds = 0.0
        """The longest recent delay by a turn or a wake-up; older delays count less."""
        self._detectors_are_behind = True
        """Whether the database may have changed since the detectors read it."""
        self._upkeep = Upkeep()
        self._upkept_at = float("-inf")
        self._rows_since_upkeep = 0
        self._budget = shortening.Budget()
        self._detection = AttackDetection(settings.GATEWALL_TRUSTED_PROXIES)

    def state(self) -> LogState:
        """Return the age of the last complete pass and the bytes waiting."""
        lag = None if self._complete_until is None else time.monotonic() - self._complete_until
        return LogState(lag, waiting_bytes(self._spool, self._looked))

    def _pause(self) -> None:
        """Wait until the next turn. While nothing is new, only check the spool's files."""
        ended = time.monotonic()
        self._note_delay(ended - self._turned_at)
        seconds = _RETRY_SECONDS if self.problem else self._rest_seconds()
        self._stop.wait(seconds)
        self._note_delay(time.monotonic() - ended - seconds)
        while not self._stop.is_set() and self._has_nothing_to_do():
            self._stop.wait(_IDLE_SECONDS)

    def _note_delay(self, seconds: float) -> None:
        self._delay_seconds = max(seconds, _DECAY * self._delay_seconds)

    def _rest_seconds(self) -> float:
        """Return the pause in which records accumulate; shorter while turns, or wake-ups of a busy host, are slow."""
        if self._tidied_at is None or self._budget.is_due():
            return self.every_seconds
        return max(self.every_seconds, _STORED_SECONDS - _DELAYS * self._delay_seconds)

    def _has_nothing_to_do(self) -> bool:
        began = time.monotonic()
        is_due = self.problem or self._has_more or self._news.is_set() or self._detection.is_behind
        if is_due or began - self._turned_at >= LONGEST_SECONDS or _files_of(self._spool) != self._before:
            return False
        self._complete_until = began
        return True

    def _work(self) -> None:
        began = self._turned_at = time.monotonic()
        self._before, self._has_more = _files_of(self._spool), True
        self._detectors_are_behind |= self._has_news
        self.failing = "the access log is not shipped"
        with self.changes.uncounted():
            shipped = ingest.ship(self._spool, self._looked, self._stop.is_set, self._detection.observe)
        self.failing = "attack detection does not run"
        self._detection.turn(timezone.now(), has_news=self._detectors_are_behind)
        self._detectors_are_behind = False
        if self._stop.is_set():
            return
        self._complete_until = began
        self.failing = "old rows of the access log are not deleted"
        self._tidy(timezone.now())
        self._rows_since_upkeep += shipped
        if self._rows_since_upkeep >= _UPKEEP_ROWS or began - self._upkept_at >= _UPKEEP_SECONDS:
            self._upkeep.turn()
            self._upkept_at, self._rows_since_upkeep = began, 0
        if self._budget.is_due():
            self._shorten(timezone.now())
        self._has_more = bool(shipped) or self._tidied_at is None or self._budget.is_due()

    def _tidy(self, at: datetime) -> None:
        if self._tidied_at is not None and abs(at - self._tidied_at) < _HOUSEKEEPING:  # abs: the clock may be set back
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
