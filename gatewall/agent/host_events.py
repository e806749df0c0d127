"""Security events of a host: rejected or unconfirmed policies, unknown proxies, clock jumps."""

import hashlib
import time
from collections import deque
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from audit.event_kinds import EventKind
from audit.events.recording import Event, count_event
from gatewall.engine.addresses import parse_address
from gatewall.gate import untrusted
from gatewall.snapshot.confirmed import ALARM_SECONDS, Confirmations, elapsed

JUMP_SECONDS = 5.0
"""NTP slews smaller differences; certificates, tokens and codes tolerate them."""
_LONGEST_PROBLEM = 200
_MOST_GAPS = 100


class HostEvents:
    """Records each host event once.

    Raises django.db.Error; events are recorded at the next call then, untrusted proxies a minute later.
    """

    def __init__(self, node: str, run: Path, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._node = node
        self._notes = run / untrusted.FOLDER
        self._monotonic = monotonic
        self._recorded: frozenset[str] = frozenset()
        self._clocks: tuple[float, float] | None = None

    def record(self, at: datetime, problems: Iterable[str]) -> None:
        """Record events since the last call; ``problems`` are the current reasons why policies are refused."""
        self._check_clock(at)
        self._record_problems(at, frozenset(problem[:_LONGEST_PROBLEM] for problem in problems))
        for noted in untrusted.take_notes(self._notes):
            peer = parse_address(noted)
            event = Event(EventKind.PROXY_UNTRUSTED, at, str(peer) if peer else None, detail={"node": self._node})
            count_event(event, self._node)

    def _check_clock(self, at: datetime) -> None:
        now, before = (at.timestamp(), self._monotonic()), self._clocks
        if before is not None:
            jump = (now[0] - before[0]) - (now[1] - before[1])
            if abs(jump) >= JUMP_SECONDS:
                detail = {"node": self._node, "seconds": round(jump, 1)}
                count_event(Event(EventKind.CLOCK_JUMPED, at, detail=detail), self._node)
        self._clocks = now

    def _record_problems(self, at: datetime, problems: frozenset[str]) -> None:
        for problem in sorted(problems - self._recorded):
            key = hashlib.sha256(problem.encode("utf-8", "replace")).hexdigest()[:16]
            detail = {"node": self._node, "problem": problem}
            count_event(Event(EventKind.POLICY_REJECTED, at.astimezone(UTC), detail=detail), f"{self._node} {key}")
        self._recorded = problems


class ConfirmationGaps:
    """Records each gap between confirmations of this host's policy, by any process (network partition)."""

    def __init__(self, node: str, confirmations: Confirmations, clock: Callable[[], float] = elapsed) -> None:
        self._node = node
        self._confirmations = confirmations
        self._clock = clock
        self._last: float | None = None
        self._pending: deque[tuple[datetime, datetime]] = deque(maxlen=_MOST_GAPS)

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
