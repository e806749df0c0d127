"""Keyset pagination: pages of a log, newest first, found by the moment and id of the last row before them.

A page looks at no more than a budget of rows: where the filters match little, it may have fewer rows than asked for,
even none, and still a ``next``. No query outlives its page, so that a slow reader holds nothing back.
"""

import struct
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, TypeVar

from django.db.models import Model, Q, QuerySet

from gatewall.credentials import base64url
from gatewall.engine.messages import Refused
from gatewall.engine.messages import gettext_noop as _

COUNT_BUDGET = 1_000_000
NEWEST_FIRST = ("-at", "-pk")
EXPORT_PAGE = 1_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FORMS = {uuid.UUID: struct.Struct(">q16s"), int: struct.Struct(">qq")}
Key = uuid.UUID | int
Row = TypeVar("Row", bound=Model)


class CursorRefused(Refused):
    """The text is no cursor of this log."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a page begins: behind this row. It need not be there any more."""

    at: datetime
    key: Key

    def __str__(self) -> str:
        """Return the cursor as it stands in a URL."""
        key = self.key.bytes if isinstance(self.key, uuid.UUID) else self.key
        return base64url.encode(_FORMS[type(self.key)].pack((self.at - _EPOCH) // timedelta(microseconds=1), key))

    @classmethod
    def parse(cls, text: str, kind: type[Key]) -> "Cursor":
        """Return the cursor that a URL names, for a log with ids of this kind. Raises CursorRefused."""
        form, content = _FORMS[kind], base64url.decode(text)
        if content is None or len(content) != form.size:
            raise CursorRefused(_("the cursor is not one of ours"))
        microseconds, key = form.unpack(content)
        try:
            at = _EPOCH + timedelta(microseconds=microseconds)
        except OverflowError:
            raise CursorRefused(_("the cursor is not one of ours")) from None
        return cls(at, uuid.UUID(bytes=key) if kind is uuid.UUID else key)


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """Rows, and where the next page begins: None where there are no more."""

    rows: list[Row]
    next: Cursor | None


def cursor_pattern(kind: type[Key]) -> str:
    """Return the pattern of the cursors of a log with ids of this kind (ECMA 262)."""
    return f"^[A-Za-z0-9_-]{{{-(-_FORMS[kind].size * 4 // 3)}}}$"


def walk(rows: QuerySet[Row], rest: Q, after: Cursor | None, size: int, budget: int) -> Page[Row]:
    """Return the page of the rows that match when no more than the budget are compared with ``rest``."""
    candidates = (rows if after is None else rows.filter(behind(after))).order_by(*NEWEST_FIRST)
    end = _end_of_budget(candidates, budget) if rest else None
    looked_at = candidates.filter(_not_behind(end)) if end else candidates
    return page_from(list(looked_at.filter(rest)[: size + 1]), size, end)


def page_from(rows: list[Row], size: int, end: Cursor | None) -> Page[Row]:
    """Return the page of rows that may be more than its size; ``end`` is where it goes on if they are not."""
    if len(rows) > size:
        last: Any = rows[size - 1]
        return Page(rows[:size], Cursor(last.at, last.pk))
    return Page(rows, end)


def number_of(rows: QuerySet[Row], rest: Q, budget: int) -> int | None:
    """Return how many rows match, or None if more than the budget would have to be looked at."""
    if _end_of_budget(rows.order_by(*NEWEST_FIRST), budget):
        return None
    return rows.filter(rest).count()


def everything(page_of: Callable[[Cursor | None, int], Page[Row]], after: Cursor | None) -> Iterator[Row]:
    """Yield all rows that match, newest first, a page at a time, each with queries of its own.

    A cursor in the database would be one long transaction, and a reader who takes their time would keep
    old days from being dropped.
    """
    while True:
        page = page_of(after, EXPORT_PAGE)
        yield from page.rows
        if page.next is None:
            return
        after = page.next


def behind(cursor: Cursor, key: str = "pk") -> Q:
    """Return the condition of the rows behind a cursor, by the column that is its key."""
    # The first part says nothing new, but an index can begin where it says.
    return Q(at__lte=cursor.at) & (Q(at__lt=cursor.at) | Q((f"{key}__lt", cursor.key)))


def _not_behind(cursor: Cursor) -> Q:
    return Q(at__gte=cursor.at) & (Q(at__gt=cursor.at) | Q(pk__gte=cursor.key))


def _end_of_budget(candidates: QuerySet[Row], budget: int) -> Cursor | None:
    """Return the last row that may be looked at, or None if all may."""
    found = [Cursor(*row) for row in candidates.values_list("at", "pk")[budget - 1 : budget + 1]]
    return found[0] if len(found) > 1 else None
