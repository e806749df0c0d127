"""Shadow policy: decide sampled requests again under a second policy, after their answers were written. Pure.

The live decision is not touched: evaluating counts no request rate, and a fault of the shadow is only reported.
The CPU time of evaluating is limited to a share of the CPU time of answering (token bucket); above it fewer requests
are evaluated.
"""

import logging
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from threading import Lock
from time import thread_time
from typing import Protocol

from gatewall.engine.addresses import IPAddress
from gatewall.engine.evaluate import evaluate
from gatewall.engine.model import AccessRequest, Decision, Effect, Verdict
from gatewall.engine.ports import Ports, RequestRate
from gatewall.engine.snapshot import PolicySnapshot

logger = logging.getLogger(__name__)

MOST_WAITING = 64
"""Maximum number of requests in the queue: each keeps its headers and body in memory."""
_MOST_SAVED = 0.1
"""Maximum unused budget that accumulates, in seconds of CPU time."""
_STEPS = 10_000
CallLater = Callable[[Callable[[], None]], object]


@dataclass(frozen=True, slots=True)
class ShadowPolicy:
    """A shadow policy in memory: ``percent`` of requests, within ``cpu_percent`` of the CPU time of answers.

    ``policy`` has the version of the live policy that it was composed with: only decisions under that version are
    compared.
    """

    id: str
    policy: PolicySnapshot
    percent: int
    cpu_percent: int

    def selects(self, decision_id: str) -> bool:
        """True for ``percent`` of the decision ids."""
        return int(decision_id[-8:], 16) % _STEPS * 100 < self.percent * _STEPS


@dataclass(slots=True)
class ShadowFigures:
    """Counters of this process for one shadow policy: answers, those selected, evaluated, differing, and CPU seconds.

    ``skipped`` were selected but exceeded the budget or the queue; ``behind`` were decided under another version.
    """

    shadow: str = ""
    answers: int = 0
    selected: int = 0
    evaluated: int = 0
    differing: int = 0
    skipped: int = 0
    behind: int = 0
    faults: int = 0
    answer_seconds: float = 0.0
    shadow_seconds: float = 0.0


class Amendments(Protocol):
    """Sink for the verdicts of a shadow policy."""

    def amend(self, decision_id: str, at: float, shadow: Mapping[str, object]) -> bool:
        """Add to the record of a decision; False if it cannot be written. Never raises."""


class _RecordingRates:
    """Counts by the wrapped rates, and records the results for one request."""

    def __init__(self, rates: RequestRate) -> None:
        self._rates = rates
        self.noted: dict[tuple[int, int | None], int] = {}

    def seconds_over(self, client: IPAddress, limit_per_minute: int, at: float, rule_id: int | None = None) -> int:
        seconds = self._rates.seconds_over(client, limit_per_minute, at, rule_id)
        self.noted[limit_per_minute, rule_id] = seconds
        return seconds


class _ReplayedRates:
    """Returns the live decision's result for its limits; for other limits, that of a read-only view."""

    def __init__(self, noted: Mapping[tuple[int, int | None], int], view: RequestRate) -> None:
        self._noted = noted
        self._view = view

    def seconds_over(self, client: IPAddress, limit_per_minute: int, at: float, rule_id: int | None = None) -> int:
        known = self._noted.get((limit_per_minute, rule_id))
        return self._view.seconds_over(client, limit_per_minute, at, rule_id) if known is None else known


class Watch:
    """One answer while a shadow policy is active. The gate sets request, decision and policy after recording."""

    __slots__ = ("began", "decision", "decision_id", "policy", "ports", "rates", "request", "shadow")

    def __init__(
        self, began: float, shadow: ShadowPolicy, decision_id: str, ports: Ports, rates: _RecordingRates | None
    ) -> None:
        self.began = began
        self.shadow = shadow
        self.decision_id = decision_id
        self.ports = ports
        self.rates = rates
        self.request: AccessRequest | None = None
        self.decision: Decision | None = None
        self.policy: PolicySnapshot | None = None


class Shadow:
    """The shadow policy of one process: samples answers, and evaluates them when ``work()`` is called.

    ``policy`` is None without a shadow policy: the gate then does nothing. After the answers, the server calls
    ``work()`` until it returns False.
    """

    def __init__(
        self, live: Ports, read_only: Ports, amendments: Amendments, cpu_clock: Callable[[], float] = thread_time
    ) -> None:
        """``live`` are the ports of the gate, ``read_only`` write and count nothing."""
        self.policy: ShadowPolicy | None = None
        self.figures = ShadowFigures()
        self.fault = ""
        self._on_first_queued: Callable[[], object] = lambda: None
        self._live = live
        self._read_only = read_only
        self._amendments = amendments
        self._cpu = cpu_clock
        self._waiting: deque[Watch] = deque()
        self._saved = 0.0
        self._lock = Lock()

    def work_by(self, call_later: CallLater) -> None:
        """Schedule evaluations by ``call_later``, one request per call, once the answer was written."""

        def turn() -> None:
            if self.work():
                call_later(turn)

        self._on_first_queued = lambda: call_later(turn)

    @property
    def is_waiting(self) -> bool:
        """True if requests wait for their evaluation."""
        return bool(self._waiting)

    def use(self, policy: ShadowPolicy | None) -> None:
        """Use this shadow policy from now on; another id starts new figures."""
        with self._lock:
            if (policy.id if policy else "") != self.figures.shadow and policy is not None:
                self.figures, self.fault, self._saved = ShadowFigures(policy.id), "", 0.0
            self.policy = policy
            if policy is None:
                self._waiting.clear()

    def watch(self, decision_id: str) -> Watch | None:
        """Start watching an answer; None without a shadow policy."""
        shadow = self.policy
        if shadow is None:
            return None
        began = self._cpu()
        if not shadow.selects(decision_id):
            return Watch(began, shadow, decision_id, self._live, None)
        if self._saved <= 0 or len(self._waiting) >= MOST_WAITING:
            self._skipped()
            return Watch(began, shadow, decision_id, self._live, None)
        rates = _RecordingRates(self._live.rates)
        return Watch(began, shadow, decision_id, replace(self._live, rates=rates), rates)

    def answered(self, watch: Watch) -> None:
        """Finish watching an answer: count its CPU time, and queue it if it is sampled."""
        is_first = False
        with self._lock:
            figures = self.figures
            figures.answers += 1
            if watch.rates is not None:
                figures.selected += 1
                is_first = self._queue(watch) and len(self._waiting) == 1
            spent = max(0.0, self._cpu() - watch.began)
            figures.answer_seconds += spent
            self._saved = min(_MOST_SAVED, self._saved + spent * watch.shadow.cpu_percent / 100)
        if is_first:
            self._on_first_queued()

    def work(self) -> bool:
        """Evaluate one waiting request; True if more are waiting. Never raises."""
        try:
            watch = self._waiting.popleft()
        except IndexError:
            return False
        active = self.policy
        if active is not None and active.id == watch.shadow.id:
            began, differs, fault = self._cpu(), False, ""
            try:
                differs = self._differs(watch)
            except Exception as error:
                # A fault of the shadow policy must reach neither an answer nor the server that calls us.
                fault = type(error).__name__
                if not self.fault:
                    logger.exception("shadow evaluation failed", extra={"decision_id": watch.decision_id})
            self._count(max(0.0, self._cpu() - began), fault, differs=differs)
        return bool(self._waiting)

    def _skipped(self) -> None:
        with self._lock:
            self.figures.selected += 1
            self.figures.skipped += 1

    def _queue(self, watch: Watch) -> bool:
        decision, policy = watch.decision, watch.policy
        if watch.request is None or decision is None or decision.effect is Effect.ERROR or policy is None:
            return False
        if policy.version != watch.shadow.policy.version:
            self.figures.behind += 1
            return False
        self._waiting.append(watch)
        return True

    def _differs(self, watch: Watch) -> bool:
        """Evaluate a request, and amend its record if the verdict differs."""
        request, decision, noted = watch.request, watch.decision, watch.rates
        if request is None or decision is None or noted is None:
            return False
        rates = _ReplayedRates(noted.noted, self._read_only.rates)
        verdict = evaluate(request, watch.shadow.policy, replace(self._read_only, rates=rates)).verdict
        if _content_of(verdict) == _content_of(decision.verdict):
            return False
        self._amendments.amend(watch.decision_id, request.at, _content_of(verdict))
        return True

    def _count(self, spent: float, fault: str, *, differs: bool) -> None:
        with self._lock:
            self._saved -= spent
            self.figures.shadow_seconds += spent
            self.figures.evaluated += not fault
            self.figures.differing += differs
            self.figures.faults += bool(fault)
            self.fault = self.fault or fault


def _content_of(verdict: Verdict) -> dict[str, object]:
    """Return what an access record shows of a verdict."""
    row = verdict.decided_by
    return {
        "effect": str(verdict.effect),
        "reason": str(verdict.reason),
        "decided_by": {"kind": str(row.kind), "id": row.id} if row else None,
    }
