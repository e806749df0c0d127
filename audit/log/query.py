"""Pages of the access log, newest first, however large it is.

A page is found by the moment and id of the last row before it, and no page looks at more than a budget
of rows: where the filters match little, a page may have fewer rows than asked for, even none, and
still a ``next``. No query outlives its page, so that a slow reader holds nothing back.
"""

import struct
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from django.db.models import Q, QuerySet

from audit.models import AccessLog, AccessLogRule
from gatewall.credentials import base64url

SCAN_BUDGET = 100_000
QUICK_BUDGET = 2_000
"""Looked at first, for most pages are full by then: to find where the whole budget ends takes longer than that."""
COUNT_BUDGET = 1_000_000
RULE_BUDGET = 10_000
"""Rows of a rule are looked up one by one, which costs more than to walk over as many in a row."""
FEW = 10_000
_EXPORT_PAGE = 1000
_RULE_CHUNK = 500
_NEWEST_FIRST = ("-at", "-decision_id")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CURSOR = struct.Struct(">q16s")


class CursorRefused(ValueError):
    """The text is no cursor of ours."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a page begins: behind this row. It need not be there any more."""

    at: datetime
    decision_id: uuid.UUID

    def __str__(self) -> str:
        """Return the cursor as it stands in a URL."""
        return base64url.encode(_CURSOR.pack((self.at - _EPOCH) // timedelta(microseconds=1), self.decision_id.bytes))

    @classmethod
    def parse(cls, text: str) -> "Cursor":
        """Return the cursor that a URL names. Raises CursorRefused."""
        content = base64url.decode(text)
        if content is None or len(content) != _CURSOR.size:
            raise CursorRefused("the cursor is not one of ours")
        microseconds, number = _CURSOR.unpack(content)
        try:
            return cls(_EPOCH + timedelta(microseconds=microseconds), uuid.UUID(bytes=number))
        except OverflowError:
            raise CursorRefused("the cursor is not one of ours") from None


@dataclass(frozen=True, slots=True)
class Filters:
    """What to look for.

    ``moments``: from when until when. ``index``: one condition whose index gives its rows in the order
    of time; ``rule``: the rule that contributed, found in the same way. ``network``: a range of clients,
    which has an index too, but in another order. ``rest`` is held against each row.
    """

    moments: Q = field(default_factory=Q)
    index: Q = field(default_factory=Q)
    network: Q = field(default_factory=Q)
    rule: int | None = None
    rest: Q = field(default_factory=Q)


@dataclass(frozen=True, slots=True)
class Page:
    """Rows, and where the next page begins: None where there are no more."""

    rows: list[AccessLog]
    next: Cursor | None


def page_of(filters: Filters, after: Cursor | None, size: int, *, budget: int = SCAN_BUDGET) -> Page:
    """Return the next page of the rows that match."""
    if filters.rule is not None:
        return _page_of_rule(filters, filters.rule, after, size, min(budget, RULE_BUDGET))
    rows, quick = AccessLog.objects.filter(filters.moments & filters.index), min(budget, QUICK_BUDGET)
    page = _walk(rows, filters.network & filters.rest, after, size, quick)
    if len(page.rows) == size or page.next is None or (quick == budget and not filters.network):
        return page
    more = _walk(*_candidates(filters), page.next, size - len(page.rows), max(budget - quick, quick))
    return Page([*page.rows, *more.rows], more.next)


def number_of(filters: Filters, *, budget: int = COUNT_BUDGET) -> int | None:
    """Return how many rows match, or None if more than the budget would have to be looked at."""
    if filters.rule is not None:
        marks = list(_marks(filters, filters.rule, None)[: min(budget, 10 * RULE_BUDGET) + 1])
        if len(marks) > min(budget, 10 * RULE_BUDGET):
            return None
        return sum(len(_rows_of(chunk, _held_against_each(filters))) for chunk in _chunks(marks, _RULE_CHUNK))
    candidates, rest = _candidates(filters)
    if _end_of_budget(candidates.order_by(*_NEWEST_FIRST), budget):
        return None
    return candidates.filter(rest).count()


def everything(filters: Filters, after: Cursor | None = None) -> Iterator[AccessLog]:
    """Yield all rows that match, newest first, a page at a time, each with queries of its own.

    A cursor in the database would be one long transaction, and a reader who takes their time would keep
    old days from being dropped.
    """
    while True:
        page = page_of(filters, after, _EXPORT_PAGE)
        yield from page.rows
        if page.next is None:
            return
        after = page.next


def _walk(rows: QuerySet[AccessLog], rest: Q, after: Cursor | None, size: int, budget: int) -> Page:
    """Return the page of the rows that match when no more than the budget are held against ``rest``."""
    candidates = (rows if after is None else rows.filter(_behind(after))).order_by(*_NEWEST_FIRST)
    end = _end_of_budget(candidates, budget) if rest else None
    looked_at = candidates.filter(_not_behind(end)) if end else candidates
    return _page(list(looked_at.filter(rest)[: size + 1]), size, end)


def _page(rows: list[AccessLog], size: int, end: Cursor | None) -> Page:
    if len(rows) > size:
        last = rows[size - 1]
        return Page(rows[:size], Cursor(last.at, last.decision_id))
    return Page(rows, end)


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


def _end_of_budget(candidates: QuerySet[AccessLog], budget: int) -> Cursor | None:
    """Return the last row that may be looked at, or None if all may."""
    edge = candidates.values_list("at", "decision_id")[budget - 1 : budget + 1]
    found = [Cursor(*row) for row in edge]
    return found[0] if len(found) > 1 else None


def _behind(cursor: Cursor) -> Q:
    # The first part says nothing new, but an index can begin where it says.
    return Q(at__lte=cursor.at) & (Q(at__lt=cursor.at) | Q(decision_id__lt=cursor.decision_id))


def _not_behind(cursor: Cursor) -> Q:
    return Q(at__gte=cursor.at) & (Q(at__gt=cursor.at) | Q(decision_id__gte=cursor.decision_id))


Mark = tuple[datetime, uuid.UUID]


def _page_of_rule(filters: Filters, rule: int, after: Cursor | None, size: int, budget: int) -> Page:
    rest, rows = _held_against_each(filters), list[AccessLog]()
    chunk = min(budget, _RULE_CHUNK if rest else size + 1)
    while True:
        marks = list(_marks(filters, rule, after)[: chunk + 1])
        rows += _rows_of(marks[:chunk], rest)
        if len(rows) > size or len(marks) <= chunk:
            return _page(rows, size, None)
        after, budget = Cursor(*marks[chunk - 1]), budget - chunk
        if budget < chunk:
            return _page(rows, size, after)


def _marks(filters: Filters, rule: int, after: Cursor | None) -> QuerySet[AccessLogRule, Mark]:
    marks = AccessLogRule.objects.filter(filters.moments, _behind(after) if after else Q(), rule_id=rule)
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
