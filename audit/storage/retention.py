"""Delete logs beyond their retention (``access_log_retention_days``, ``event_retention_days``)."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from audit.figures import rollups
from audit.models import AccessLog, AccessLogRule, LogGap, SecurityEvent
from audit.storage import partitions

_AT_ONCE = 1_000
"""Rows per transaction: on SQLite, all other writers wait for it."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """Number of deleted rows and of dropped partitions, and whether nothing is left to delete."""

    rows: int
    partitions: int
    is_all: bool = True


def prune(at: datetime, *, days: int, at_most: int | None = None) -> Pruned:
    """Delete entries older than ``days`` days, at most ``at_most`` rows per kind.

    Runs in short transactions, so that other writers do not wait long.
    """
    before = at - timedelta(days=days)
    dropped = partitions.drop_before(partitions.day_of(before))
    logs, rules = (_in_portions(model, before, at_most) for model in (AccessLog, AccessLogRule))
    others = LogGap.objects.filter(at__lt=before).delete()[0] + rollups.prune(before)
    return Pruned(logs + rules + others, len(dropped), at_most is None or max(logs, rules) < at_most)


def prune_events(at: datetime, *, days: int, at_most: int | None = None) -> Pruned:
    """Delete security events older than ``days`` days, as ``prune()`` does."""
    events = _in_portions(SecurityEvent, at - timedelta(days=days), at_most)
    return Pruned(events, 0, at_most is None or events < at_most)


def _in_portions(model: type[AccessLog | AccessLogRule | SecurityEvent], before: datetime, at_most: int | None) -> int:
    """Delete the oldest rows by time range: if deleted by key, PostgreSQL would search every partition."""
    deleted = 0
    edge: datetime | None = before
    while edge is not None and (at_most is None or deleted < at_most):
        old = model.objects.filter(at__lt=before)
        edge = old.order_by("at").values_list("at", flat=True)[_AT_ONCE - 1 : _AT_ONCE].first()
        deleted += (old if edge is None else old.filter(at__lte=edge)).delete()[0]
    return deleted
