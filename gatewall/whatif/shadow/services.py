"""Set and remove the shadow policy, and store the hosts' reports about it."""

import logging
import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from audit.event_kinds import EventKind
from audit.events.recording import Event, count_event
from gatewall.models import PolicyHead
from gatewall.models.shadow import ShadowPolicy, ShadowReport
from gatewall.policy import revisions

logger = logging.getLogger(__name__)

COUNTS = ("answers", "selected", "evaluated", "differing", "skipped", "behind", "faults")
SECONDS = ("answer_seconds", "shadow_seconds")
_ONLY_ROW = 1
_MAX_WORKERS = 200
"""If there are more processes, the figures of ended ones are added up in one entry."""
_PAST = "past"


def current() -> ShadowPolicy | None:
    """Return the shadow policy, or None."""
    return ShadowPolicy.objects.filter(pk=_ONLY_ROW).first()


@transaction.atomic
def set_shadow(*, document: str, percent: int, actor: str) -> ShadowPolicy:
    """Replace the shadow policy; its figures restart at zero. The agents compile and publish it."""
    PolicyHead.objects.select_for_update().filter(pk=_ONLY_ROW).first()  # one at a time
    ShadowPolicy.objects.filter(pk=_ONLY_ROW).delete()
    revision = revisions.current().revision
    return ShadowPolicy.objects.create(
        pk=_ONLY_ROW, document=document, percent=percent, revision=revision, created_by=actor[:64]
    )


def remove(shadow: ShadowPolicy | None = None) -> bool:
    """Remove this shadow policy, or any; return False if there is none. Workers drop it within seconds."""
    rows = ShadowPolicy.objects.filter(pk=_ONLY_ROW) if shadow is None else ShadowPolicy.objects.filter(key=shadow.key)
    number, _ = rows.delete()
    return bool(number)


def compiled(key: uuid.UUID, at: datetime, problem: str, node: str) -> None:
    """Record that the document was compiled, or the problem; a new problem is a security event."""
    before = ShadowPolicy.objects.filter(key=key).values_list("problem", flat=True).first()
    if before is None:
        return
    ShadowPolicy.objects.filter(key=key).update(problem=problem[:500], compiled_at=None if problem else at)
    if problem and problem[:500] != before:
        _record_failure(at, problem, node)


def report(key: uuid.UUID, node: str, at: datetime, reports: Mapping[str, Mapping[str, Any]]) -> None:
    """Store the reports of a host's processes; a new problem is a security event."""
    own = {name: each for name, each in reports.items() if each["figures"]["shadow"] == str(key)}
    problems = sorted({str(each["problem"]) for each in reports.values() if each["problem"]})
    row = ShadowReport.objects.filter(node=node[:100]).first()
    workers = dict(row.workers) if row is not None and row.key == key else {}
    workers |= {name: _figures_of(each["figures"]) for name, each in own.items()}
    before = row.problem if row is not None and row.key == key else ""
    problem = "; ".join(problems)[:500]
    ShadowReport.objects.update_or_create(
        node=node[:100],
        defaults={
            "key": key,
            "seen_at": at,
            "workers": _bounded(workers, own),
            "recent": _sum(each["recent"] for each in own.values()),
            "active": sum(bool(each["active"]) for each in own.values()),
            "problem": problem,
        },
    )
    if problem and problem != before:
        _record_failure(at, problem, node)


def _figures_of(figures: Mapping[str, Any]) -> dict[str, float]:
    return {name: figures[name] for name in (*COUNTS, *SECONDS)}


def _bounded(workers: dict[str, dict[str, float]], living: Mapping[str, object]) -> dict[str, dict[str, float]]:
    """Add up the figures of ended processes if there are too many."""
    if len(workers) <= _MAX_WORKERS:
        return workers
    ended = [name for name in workers if name not in living]
    kept = {name: each for name, each in workers.items() if name in living}
    return {**kept, _PAST: _sum(workers[name] for name in ended)}


def _sum(figures: Any) -> dict[str, float]:
    total: dict[str, float] = {}
    for each in figures:
        for name, number in each.items():
            total[name] = total.get(name, 0) + number
    return total


def _record_failure(at: datetime, problem: str, node: str) -> None:
    logger.error("shadow policy: %s", problem)
    count_event(Event(EventKind.SHADOW_FAILED, at, detail={"node": node, "problem": problem[:200]}), node)
