"""Security events of a host: rejected policies, unknown proxies, clock jumps."""

import hashlib
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

from audit.event_kinds import EventKind
from audit.events.recording import Event, count_event
from gatewall.engine.addresses import parse_address
from gatewall.gate import untrusted

JUMP_SECONDS = 5.0
"""NTP slews smaller differences; certificates, tokens and codes tolerate them."""
_LONGEST_PROBLEM = 200


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
        for note in untrusted.take_notes(self._notes):
            peer = parse_address(note.peer)
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
