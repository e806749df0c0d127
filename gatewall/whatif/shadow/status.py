"""The state of the shadow policy, over all hosts. Read-only."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any

from django.utils import timezone

from gatewall.models.shadow import ShadowPolicy, ShadowReport
from gatewall.policy import system_settings
from gatewall.whatif.shadow.services import COUNTS, SECONDS

_SILENT = timedelta(seconds=15)
"""A host whose last report is older counts in the totals only."""


class State(StrEnum):
    """Whether workers evaluate the shadow policy."""

    WAITING = "waiting"
    ACTIVE = "active"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Status:
    """State and figures: totals since it was set, and shares of the last ten seconds in percent (None: no requests).

    ``sampled_percent``: the share of evaluated requests. ``cpu_percent``: CPU time of evaluation, in percent of the CPU
    time of the answers.
    """

    shadow: ShadowPolicy
    state: State
    problem: str
    totals: Mapping[str, float]
    sampled_percent: float | None
    cpu_percent: float | None
    cpu_percent_limit: int

    @property
    def is_throttled(self) -> bool:
        """True if the CPU budget makes workers evaluate fewer requests than ``percent`` demands."""
        return self.sampled_percent is not None and self.sampled_percent < 0.9 * self.shadow.percent


def status_of(shadow: ShadowPolicy) -> Status:
    """Return the state of the shadow policy."""
    reports = list(ShadowReport.objects.filter(key=shadow.key))
    live = [each for each in reports if abs(timezone.now() - each.seen_at) < _SILENT]
    problem = shadow.problem or next((each.problem for each in live if each.problem), "")
    is_active = any(each.active for each in live)
    recent = _total([each.recent for each in live])
    return Status(
        shadow,
        State.FAILED if problem else State.ACTIVE if is_active else State.WAITING,
        problem,
        _total([figures for each in reports for figures in each.workers.values()]),
        _percent(recent["evaluated"], recent["answers"]),
        _percent(recent["shadow_seconds"], recent["answer_seconds"]),
        system_settings.current().shadow_cpu_percent,
    )


def _total(figures: list[Any]) -> dict[str, float]:
    return {name: sum(each.get(name, 0) for each in figures) for name in (*COUNTS, *SECONDS)}


def _percent(part: float, whole: float) -> float | None:
    return round(100 * part / whole, 1) if whole else None
