"""Pages of the access log, newest first, however large it is.

A page is found by the moment and id of the last row before it, and no page looks at more than a budget
of rows: where the filters match little, a page may have fewer rows than asked for, even none, and
still a ``next``.
"""

import base64
import binascii
import json
import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet

from audit.models import AccessLog

SCAN_BUDGET = 100_000
_NEWEST_FIRST = ("-at", "-decision_id")


class CursorRefused(ValueError):
    """The text is no cursor of ours."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a page begins: behind this row. It need not be there any more."""

    at: datetime
    decision_id: uuid.UUID

    def __str__(self) -> str:
        """Return the cursor as it stands in a URL."""
        text = json.dumps([self.at.isoformat(), self.decision_id.hex])
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    @classmethod
    def parse(cls, text: str) -> "Cursor":
        """Return the cursor that a URL names. Raises CursorRefused."""
        try:
            at, decision_id = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
            moment = datetime.fromisoformat(at)
            if moment.tzinfo is None:
                raise CursorRefused("the cursor is not one of ours")
            return cls(moment, uuid.UUID(decision_id))
        except (ValueError, TypeError, AttributeError, binascii.Error, RecursionError):
            raise CursorRefused("the cursor is not one of ours") from None


@dataclass(frozen=True, slots=True)
class Filters:
    """What to look for: ``narrow`` conditions have an index of their own, ``rest`` are held against each row."""

    narrow: Q
    rest: Q


@dataclass(frozen=True, slots=True)
class Page:
    """Rows, and where the next page begins: None where there are no more."""

    rows: list[AccessLog]
    next: Cursor | None


def page_of(filters: Filters, after: Cursor | None, size: int, *, budget: int = SCAN_BUDGET) -> Page:
    """Return the next page of the rows that match."""
    candidates = AccessLog.objects.filter(filters.narrow)
    if after is not None:
        candidates = candidates.filter(_behind(after))
    candidates = candidates.order_by(*_NEWEST_FIRST)
    end = _end_of_budget(candidates, budget) if filters.rest else None
    looked_at = candidates.exclude(_behind(end)) if end else candidates
    rows = list(looked_at.filter(filters.rest)[: size + 1])
    if len(rows) > size:
        last = rows[size - 1]
        return Page(rows[:size], Cursor(last.at, last.decision_id))
    return Page(rows, end)


def _end_of_budget(candidates: QuerySet[AccessLog], budget: int) -> Cursor | None:
    """Return the last row that may be looked at, or None if all may."""
    edge = candidates.values_list("at", "decision_id")[budget - 1 : budget + 1]
    found = [Cursor(*row) for row in edge]
    return found[0] if len(found) > 1 else None


def _behind(cursor: Cursor) -> Q:
    return Q(at__lt=cursor.at) | Q(at=cursor.at, decision_id__lt=cursor.decision_id)


def number_of(filters: Filters) -> int:
    """Return how many rows match, however long that takes."""
    return AccessLog.objects.filter(filters.narrow & filters.rest).count()


def everything(filters: Filters) -> Any:
    """Yield all rows that match, newest first, a thousand at a time."""
    rows = AccessLog.objects.filter(filters.narrow & filters.rest).order_by(*_NEWEST_FIRST)
    return rows.iterator(chunk_size=1000)
