"""Record a security event after this host's policy could not be confirmed for a while (network partition)."""

from collections import deque
from collections.abc import Callable
from datetime import datetime, timedelta

from audit.event_kinds import EventKind
from audit.events.recording import Event, count_event
from gatewall.snapshot.confirmed import ALARM_SECONDS, Confirmations, elapsed

_AT_MOST = 100


class ConfirmationGaps:
    """Detects gaps between confirmations of this host's policy, by any process."""

    def __init__(self, node: str, confirmations: Confirmations, clock: Callable[[], float] = elapsed) -> None:
        self._node = node
        self._confirmations = confirmations
        self._clock = clock
        self._last: float | None = None
        self._pending: deque[tuple[datetime, datetime]] = deque(maxlen=_AT_MOST)

    def check(self, at: datetime) -> None:
        """Note a gap that has ended since the last call; ``at`` is now. Uses no database."""
        before, after = self._last, self._confirmations.last()
        if after is None:
            return
        self._last = after
        if before is not None and after - before > ALARM_SECONDS:
            # Relative to now: the wall clock may have been set in between.
            since, until = (at - timedelta(seconds=self._clock() - moment) for moment in (before, after))
            self._pending.append((since, until))

    def record(self) -> None:
        """Record an event for each noted gap. Raises django.db.Error; the rest is recorded at the next call."""
        while self._pending:
            self._record_gap(*self._pending[0])
            self._pending.popleft()

    def _record_gap(self, since: datetime, until: datetime) -> None:
        detail = {
            "node": self._node,
            "from": _text(since),
            "to": _text(until),
            "seconds": round((until - since).total_seconds(), 1),
        }
        count_event(Event(EventKind.POLICY_UNCONFIRMED, until, detail=detail), f"{self._node} {detail['from']}")


def _text(at: datetime) -> str:
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")
