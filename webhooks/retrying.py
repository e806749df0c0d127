"""Retries of rows that wait in the database to be sent: leases, and exponential backoff with jitter."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from random import SystemRandom
from typing import TypeVar

from django.db.models import F, Q, QuerySet

from webhooks.models import DeliveryStatus, Queued

LEASE = timedelta(minutes=2)
"""Longer than an attempt takes, including DNS; afterwards another host may retry."""
OTHER_CLOCK = timedelta(hours=1)
"""Upper bound of the difference between the clocks of hosts."""
_JITTER = 0.2
_LONGEST_FAILURE = 500
_random = SystemRandom()
Row = TypeVar("Row", bound=Queued)


@dataclass(frozen=True, slots=True)
class Schedule:
    """The delay after each failed attempt; after the last one the row has failed."""

    delays: tuple[timedelta, ...]

    def is_due(self, at: datetime) -> Q:
        """Return the condition of rows whose time has come; a longer delay was set before the clock moved back."""
        longest = max(self.delays) * (1 + _JITTER) + OTHER_CLOCK
        return Q(next_at__lte=at) | Q(next_at__gt=at + longest)

    def after_failure(self, row: Queued, failure: str, at: datetime, *, is_final: bool) -> dict[str, object]:
        """Return the values of a row after a failed attempt: the time of the next attempt, if any is left."""
        values: dict[str, object] = {"failure": failure[:_LONGEST_FAILURE]}
        if is_final or row.attempts > len(self.delays):
            return values | {"status": DeliveryStatus.FAILED, "next_at": None}
        wait = self.delays[row.attempts - 1] * _random.uniform(1 - _JITTER, 1 + _JITTER)
        return values | {"next_at": at + wait}


def lease(row: Queued, at: datetime) -> bool:
    """Claim the row for an attempt; return False if another host was faster."""
    free = as_waiting(row)
    row.next_at, row.attempts = at + LEASE, row.attempts + 1
    return bool(free.update(next_at=row.next_at, attempts=F("attempts") + 1, tried_at=at))


def as_waiting(row: Row) -> QuerySet[Row]:
    """Return a query for the row that is empty if it changed: every lease and every change moves ``next_at``."""
    rows: QuerySet[Row] = type(row)._default_manager.all()  # noqa: SLF001 - Django's documented API
    return rows.filter(pk=row.pk, status=DeliveryStatus.WAITING, next_at=row.next_at)
