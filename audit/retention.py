"""How long what happened is kept (system setting ``access_log_retention_days``)."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from audit import partitions, rollups
from audit.models import AccessLog, AccessLogRule, LogGap, SpoolSegment

_AT_ONCE = 10_000
_SHIPPED_DAYS = 30


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was deleted: rows one by one, and whole days with theirs."""

    rows: int
    partitions: int


def prune(at: datetime, *, days: int) -> Pruned:
    """Delete what is older than so many days.

    In portions, each a transaction of its own, so that nobody waits long for the writer's lock.
    """
    before = at - timedelta(days=days)
    dropped = partitions.drop_before(partitions.day_of(before))
    deleted = _in_portions(AccessLog, before) + _in_portions(AccessLogRule, before)
    deleted += LogGap.objects.filter(at__lt=before).delete()[0] + rollups.prune(before)
    SpoolSegment.objects.filter(shipped_at__lt=at - timedelta(days=max(days, _SHIPPED_DAYS))).delete()
    return Pruned(deleted, len(dropped))


def _in_portions(model: type[AccessLog] | type[AccessLogRule], before: datetime) -> int:
    deleted = 0
    while keys := list(model.objects.filter(at__lt=before).values_list("pk", flat=True)[:_AT_ONCE]):
        deleted += model.objects.filter(pk__in=keys).delete()[0]
    return deleted
