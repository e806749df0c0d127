"""Pages of the security events, newest first (``audit/querying/keyset.py``)."""

from audit.models import SecurityEvent
from audit.querying import keyset
from audit.querying.field_filters import Filters
from audit.querying.keyset import COUNT_BUDGET, Cursor, Page

SCAN_BUDGET = 20_000


def page_of(filters: Filters, after: Cursor | None, size: int, *, budget: int = SCAN_BUDGET) -> Page[SecurityEvent]:
    """Return the next page of matching events."""
    rows = SecurityEvent.objects.filter(filters.moments & filters.index)
    return keyset.walk(rows, filters.network & filters.rest, after, size, budget)


def number_of(filters: Filters, *, budget: int = COUNT_BUDGET) -> int | None:
    """Return the number of matching events, None if it would scan more rows than the budget."""
    rows = SecurityEvent.objects.filter(filters.moments & filters.index)
    return keyset.number_of(rows, filters.network & filters.rest, budget)
