"""Counters that only ever grow, for whoever compares them over time. Not the access log's: see ``audit.counts``."""

from enum import StrEnum

from django.db import connection
from django.utils import timezone

from audit.models import GapKind, UseCount

_PREFIX = "tally "
_ADD = (
    "INSERT INTO audit_usecount (kind, row_id, count, last_at) VALUES (%s, 0, %s, %s) "
    "ON CONFLICT (kind, row_id) DO UPDATE SET count = audit_usecount.count + excluded.count, last_at = excluded.last_at"
)


class Tally(StrEnum):
    """What is counted. A closed list: each is a row, and a line of ``/metrics``."""

    LOGIN_SUCCEEDED = "login.succeeded"
    LOGIN_FAILED = "login.failed"
    LOST_DROPPED = f"lost.{GapKind.DROPPED.value}"
    LOST_DAMAGED = f"lost.{GapKind.DAMAGED.value}"
    LOST_TORN = f"lost.{GapKind.TORN.value}"


def lost(kind: GapKind) -> Tally:
    """Return the tally of the records that are missing for this reason."""
    return Tally(f"lost.{kind.value}")


def add(tally: Tally, number: int = 1) -> None:
    """Count so many more, in the caller's transaction if there is one."""
    moment = connection.ops.adapt_datetimefield_value(timezone.now())
    with connection.cursor() as cursor:
        cursor.execute(_ADD, [f"{_PREFIX}{tally.value}", number, moment])


def totals() -> dict[Tally, int]:
    """Return all counters, those that never counted anything too."""
    rows = UseCount.objects.filter(kind__in=[f"{_PREFIX}{tally.value}" for tally in Tally], row_id=0)
    found = dict(rows.values_list("kind", "count"))
    return {tally: found.get(f"{_PREFIX}{tally.value}", 0) for tally in Tally}
