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
"""Scanned first: most pages are full by then, and finding the end of the full budget is slower."""
RULE_BUDGET = 10_000
"""For pages of a rule: looking up its rows one by one is slower than a scan."""
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
    """Return the number of matching rows, None if it would scan more rows than the budget."""
    if filters.rule is not None:
        budget, rest = min(budget, 10 * RULE_BUDGET), _row_condition(filters)
        marks = list(_marks(filters, filters.rule, None)[: budget + 1])
        if len(marks) > budget:
            return None
        starts = range(0, len(marks), _RULE_CHUNK)
        return sum(len(_rows_of(marks[start : start + _RULE_CHUNK], rest)) for start in starts)
    return keyset.number_of(*_candidates(filters), budget)


def outcomes_of(filters: Filters) -> tuple[list[tuple[datetime, str]], datetime | None]:
    """Return time and outcome of the newest matching rows, and since when these are all; None for the whole log.

    Scans at most ``OUTCOME_SCAN`` rows and returns at most ``MOST_OUTCOMES``.
    """
    if filters.rule is None:
        rows, rest = _candidates(filters)
        columns = ("at", "outcome")
        return keyset.newest_values(rows, rest, columns, budget=OUTCOME_SCAN, most=MOST_OUTCOMES)
    marks = list(_marks(filters, filters.rule, None)[: QUICK_BUDGET + 1])
    rest, kept = _row_condition(filters), marks[:QUICK_BUDGET]
    starts = range(0, len(kept), _RULE_CHUNK)
    matching = [row for start in starts for row in _rows_of(kept[start : start + _RULE_CHUNK], rest)]
    return [(row.at, row.outcome) for row in matching], marks[-1][0] if len(marks) > len(kept) else None


def _candidates(filters: Filters) -> tuple[QuerySet[AccessLog], Q]:
    """Return the rows to scan, and the condition to test each row with.

    A network of few rows is selected by its index and sorted; one of many rows is met soon enough by a scan.
    """
    rows = AccessLog.objects.filter(filters.moments & filters.index)
    if not filters.network:
        return rows, filters.rest
    if not filters.index and not AccessLog.objects.filter(filters.network)[FEW : FEW + 1].exists():
        return rows.filter(filters.network), filters.rest
    return rows, filters.rest & filters.network


Mark = tuple[datetime, uuid.UUID]


def _page_of_rule(filters: Filters, rule: int, after: Cursor | None, size: int, budget: int) -> Page[AccessLog]:
    rest, rows = _row_condition(filters), list[AccessLog]()
    chunk = min(budget, _RULE_CHUNK if rest else size + 1)
    while True:
        marks = list(_marks(filters, rule, after)[: chunk + 1])
        rows += _rows_of(marks[:chunk], rest)
        if len(rows) > size or len(marks) <= chunk:
            return keyset.page_from(rows, size, None)
        after, budget = Cursor(*marks[chunk - 1]), budget - chunk
        if budget < chunk:
            return keyset.page_from(rows, size, after)


def _marks(filters: Filters, rule: int, after: Cursor | None) -> QuerySet[AccessLogRule, Mark]:
    behind = keyset.behind(after, "decision_id") if after else Q()
    marks = AccessLogRule.objects.filter(filters.moments, behind, rule_id=rule)
    return marks.order_by(*_NEWEST_FIRST).values_list("at", "decision_id")


def _row_condition(filters: Filters) -> Q:
    return filters.index & filters.network & filters.rest


def _rows_of(marks: list[Mark], rest: Q) -> list[AccessLog]:
    """Return the matching rows of these decisions, in their order."""
    matching = AccessLog.objects.filter(rest, at__in={at for at, _ in marks})
    rows = {(row.at, row.decision_id): row for row in matching}
    return [rows[mark] for mark in marks if mark in rows]
