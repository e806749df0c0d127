"""Pages of the access log, newest first, at bounded cost (``audit/querying/keyset.py``)."""

import uuid
from datetime import datetime

from django.db.models import Q, QuerySet

from audit.models import AccessLog, AccessLogRule
from audit.querying import keyset
from audit.querying.field_filters import Filters
from audit.querying.keyset import COUNT_BUDGET, Cursor, Page

SCAN_BUDGET = 100_000
QUICK_BUDGET = 2_000
"""Number of rows to scan first: they fill most pages, and finding the end of the full budget is slower."""
RULE_BUDGET = 10_000
"""Budget for pages of a WAF rule: looking up its rows one by one is slower than a scan."""
FEW = 10_000
OUTCOME_SCAN, MOST_OUTCOMES = 20_000, 5_000
_RULE_CHUNK = 500
_NEWEST_FIRST = ("-at", "-decision_id")


def page_of(filters: Filters, after: Cursor | None, size: int, *, budget: int = SCAN_BUDGET) -> Page[AccessLog]:
    """Return the next page of matching rows."""
    if filters.rule is not None:
        return _page_of_rule(filters, filters.rule, after, size, min(budget, RULE_BUDGET))
    rows, quick = AccessLog.objects.filter(filters.moments & filters.index), min(budget, QUICK_BUDGET)
    page = keyset.walk(rows, filters.network & filters.rest, after, size, quick)
    if len(page.rows) == size or page.next is None or (quick == budget and not filters.network):
        return page
    more = keyset.walk(*_candidates(filters), page.next, size - len(page.rows), max(budget - quick, quick))
    return Page([*page.rows, *more.rows], more.next)


def number_of(filters: Filters, *, budget: int = COUNT_BUDGET) -> int | None:
    """Return the number of matching rows, None if counting would scan more rows than the budget."""
    if filters.rule is not None:
        budget, rest = min(budget, 10 * RULE_BUDGET), _row_condition(filters)
        keys = list(_keys_of_rule(filters, filters.rule, None)[: budget + 1])
        if len(keys) > budget:
            return None
        starts = range(0, len(keys), _RULE_CHUNK)
        return sum(len(_rows_of(keys[start : start + _RULE_CHUNK], rest)) for start in starts)
    return keyset.number_of(*_candidates(filters), budget)


def outcomes_of(filters: Filters) -> tuple[list[tuple[datetime, str]], datetime | None]:
    """Return time and outcome of the newest matching rows, and since when the result is complete (None: always).

    Scans at most ``OUTCOME_SCAN`` rows and returns at most ``MOST_OUTCOMES``.
    """
    if filters.rule is None:
        rows, rest = _candidates(filters)
        columns = ("at", "outcome")
        return keyset.newest_values(rows, rest, columns, budget=OUTCOME_SCAN, most=MOST_OUTCOMES)
    keys = list(_keys_of_rule(filters, filters.rule, None)[: QUICK_BUDGET + 1])
    rest, kept = _row_condition(filters), keys[:QUICK_BUDGET]
    starts = range(0, len(kept), _RULE_CHUNK)
    matching = [row for start in starts for row in _rows_of(kept[start : start + _RULE_CHUNK], rest)]
    return [(row.at, row.outcome) for row in matching], keys[-1][0] if len(keys) > len(kept) else None


def _candidates(filters: Filters) -> tuple[QuerySet[AccessLog], Q]:
    """Return the rows to scan, and the condition to test each row with.

    The rows of a network with few rows are selected by its index and sorted; for other networks, a scan by time soon
    finds enough rows.
    """
    rows = AccessLog.objects.filter(filters.moments & filters.index)
    if not filters.network:
        return rows, filters.rest
    if not filters.index and not AccessLog.objects.filter(filters.network)[FEW : FEW + 1].exists():
        return rows.filter(filters.network), filters.rest
    return rows, filters.rest & filters.network


_RowKey = tuple[datetime, uuid.UUID]


def _page_of_rule(filters: Filters, rule: int, after: Cursor | None, size: int, budget: int) -> Page[AccessLog]:
    rest, rows = _row_condition(filters), list[AccessLog]()
    chunk = min(budget, _RULE_CHUNK if rest else size + 1)
    while True:
        keys = list(_keys_of_rule(filters, rule, after)[: chunk + 1])
        rows += _rows_of(keys[:chunk], rest)
        if len(rows) > size or len(keys) <= chunk:
            return keyset.page_from(rows, size, None)
        after, budget = Cursor(*keys[chunk - 1]), budget - chunk
        if budget < chunk:
            return keyset.page_from(rows, size, after)


def _keys_of_rule(filters: Filters, rule: int, after: Cursor | None) -> QuerySet[AccessLogRule, _RowKey]:
    behind = keyset.behind(after, "decision_id") if after else Q()
    keys = AccessLogRule.objects.filter(filters.moments, behind, rule_id=rule)
    return keys.order_by(*_NEWEST_FIRST).values_list("at", "decision_id")


def _row_condition(filters: Filters) -> Q:
    return filters.index & filters.network & filters.rest


def _rows_of(keys: list[_RowKey], rest: Q) -> list[AccessLog]:
    """Return the matching rows of these decisions, in their order."""
    matching = AccessLog.objects.filter(rest, at__in={at for at, _ in keys})
    rows = {(row.at, row.decision_id): row for row in matching}
    return [rows[key] for key in keys if key in rows]
