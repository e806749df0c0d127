"""Pages of the access log, newest first, however large it is: by keyset (``audit/querying/keyset.py``)."""

import uuid
from collections.abc import Iterator
from datetime import datetime

from django.db.models import Q, QuerySet

from audit.models import AccessLog, AccessLogRule
from audit.querying import keyset
from audit.querying.field_filters import Filters
from audit.querying.keyset import COUNT_BUDGET, Cursor, Page

SCAN_BUDGET = 100_000
QUICK_BUDGET = 2_000
"""Looked at first, for most pages are full by then: to find where the whole budget ends takes longer than that."""
RULE_BUDGET = 10_000
"""Rows of a rule are looked up one by one, which costs more than to walk over as many in a row."""
FEW = 10_000
_RULE_CHUNK = 500
_NEWEST_FIRST = ("-at", "-decision_id")


def page_of(filters: Filters, after: Cursor | None, size: int, *, budget: int = SCAN_BUDGET) -> Page[AccessLog]:
    """Return the next page of the rows that match."""
    if filters.rule is not None:
        return _page_of_rule(filters, filters.rule, after, size, min(budget, RULE_BUDGET))
    rows, quick = AccessLog.objects.filter(filters.moments & filters.index), min(budget, QUICK_BUDGET)
    page = keyset.walk(rows, filters.network & filters.rest, after, size, quick)
    if len(page.rows) == size or page.next is None or (quick == budget and not filters.network):
        return page
    more = keyset.walk(*_candidates(filters), page.next, size - len(page.rows), max(budget - quick, quick))
    return Page([*page.rows, *more.rows], more.next)


def number_of(filters: Filters, *, budget: int = COUNT_BUDGET) -> int | None:
    """Return how many rows match, or None if more than the budget would have to be looked at."""
    if filters.rule is not None:
        marks = list(_marks(filters, filters.rule, None)[: min(budget, 10 * RULE_BUDGET) + 1])
        if len(marks) > min(budget, 10 * RULE_BUDGET):
            return None
        return sum(len(_rows_of(chunk, _held_against_each(filters))) for chunk in _chunks(marks, _RULE_CHUNK))
    return keyset.number_of(*_candidates(filters), budget)


def _candidates(filters: Filters) -> tuple[QuerySet[AccessLog], Q]:
    """Return the rows to walk over, and what to hold against each.

    A network of few rows is found by its index and put in order. One of many is met soon enough when
    walking over all rows.
    """
    rows = AccessLog.objects.filter(filters.moments & filters.index)
    if not filters.network:
        return rows, filters.rest
    if not filters.index and not AccessLog.objects.filter(filters.network)[FEW : FEW + 1].exists():
        return rows.filter(filters.network), filters.rest
    return rows, filters.rest & filters.network


Mark = tuple[datetime, uuid.UUID]


def _page_of_rule(filters: Filters, rule: int, after: Cursor | None, size: int, budget: int) -> Page[AccessLog]:
    rest, rows = _held_against_each(filters), list[AccessLog]()
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


def _held_against_each(filters: Filters) -> Q:
    return filters.index & filters.network & filters.rest


def _rows_of(marks: list[Mark], rest: Q) -> list[AccessLog]:
    """Return the rows of these decisions that match, in their order."""
    found = AccessLog.objects.filter(rest, at__in={at for at, _ in marks})
    rows = {(row.at, row.decision_id): row for row in found}
    return [rows[mark] for mark in marks if mark in rows]


def _chunks(marks: list[Mark], size: int) -> Iterator[list[Mark]]:
    for start in range(0, len(marks), size):
        yield marks[start : start + size]
