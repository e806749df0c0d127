"""Keyset pagination of a log, newest first: the cursor is the time and id of the last row.

A page scans at most a budget of rows: if matches are rare, it may be short or empty and still have a ``next``. Each
page has its own queries, so that a slow reader blocks nothing.
"""

import struct
import uuid
from collections.abc import Callable, Collection, Iterator
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
    """The text is not a cursor of this log."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """The row after which a page starts; the row itself may be deleted."""

    at: datetime
    key: Key

    def __str__(self) -> str:
        key = self.key.bytes if isinstance(self.key, uuid.UUID) else self.key
        return base64url.encode(_FORMS[type(self.key)].pack((self.at - _EPOCH) // timedelta(microseconds=1), key))

    @classmethod
    def parse(cls, text: str, kind: type[Key]) -> "Cursor":
        """Return the cursor from a URL, for a log with ids of this kind. Raises CursorRefused."""
        form, content = _FORMS[kind], base64url.decode(text)
        if content is None or len(content) != form.size:
            raise CursorRefused(_("the cursor is not valid"))
        microseconds, key = form.unpack(content)
        try:
            at = _EPOCH + timedelta(microseconds=microseconds)
        except OverflowError:
            raise CursorRefused(_("the cursor is not valid")) from None
        return cls(at, uuid.UUID(bytes=key) if kind is uuid.UUID else key)


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """Rows, and the cursor of the next page; None on the last page."""

    rows: list[Row]
    next: Cursor | None


def cursor_pattern(kind: type[Key]) -> str:
    """Return the regular expression (ECMA 262) of cursors of a log with ids of this kind."""
    return f"^[A-Za-z0-9_-]{{{-(-_FORMS[kind].size * 4 // 3)}}}$"


def walk(rows: QuerySet[Row], rest: Q, after: Cursor | None, size: int, budget: int) -> Page[Row]:
    """Return the page of matching rows, testing ``rest`` on at most ``budget`` rows."""
    candidates = (rows if after is None else rows.filter(behind(after))).order_by(*NEWEST_FIRST)
    end = _end_of_budget(candidates, budget) if rest else None
    scanned = candidates.filter(not_behind(end)) if end else candidates
    return page_from(list(scanned.filter(rest)[: size + 1]), size, end)


def page_from(rows: list[Row], size: int, end: Cursor | None) -> Page[Row]:
    """Return the first ``size`` rows as a page; its ``next`` is ``end`` unless there are more rows."""
    if len(rows) > size:
        last: Any = rows[size - 1]
        return Page(rows[:size], Cursor(last.at, last.pk))
    return Page(rows, end)


def number_of(rows: QuerySet[Row], rest: Q, budget: int) -> int | None:
    """Return the number of matching rows, None if counting would scan more rows than the budget."""
    if _end_of_budget(rows.order_by(*NEWEST_FIRST), budget):
        return None
    return rows.filter(rest).count()


def newest_values(
    rows: QuerySet[Row], rest: Q, columns: Collection[str], *, budget: int, most: int
) -> tuple[list[Any], datetime | None]:
    """Return columns (time first) of the newest matching rows, and since when the result is complete (None: always).

    Scans at most ``budget`` rows and returns at most ``most``.
    """
    ordered = rows.order_by(*NEWEST_FIRST)
    end = _end_of_budget(ordered, budget) if rest or budget <= most else None  # else every scanned row matches
    scanned = ordered.filter(not_behind(end)) if end else ordered
    found = list(scanned.filter(rest).values_list(*columns)[: most + 1])
    if len(found) > most:
        return found[:most], found[most][0]
    return found, end.at if end else None


def everything(page_of: Callable[[Cursor | None, int], Page[Row]], after: Cursor | None) -> Iterator[Row]:
    """Yield all matching rows, newest first, with separate queries for each page.

    A database cursor would be one long transaction, and a slow reader would delay the deletion of old days.
    """
    while True:
        page = page_of(after, EXPORT_PAGE)
        yield from page.rows
        if page.next is None:
            return
        after = page.next


def behind(cursor: Cursor, key: str = "pk") -> Q:
    """Return the condition of rows after the cursor; ``key`` is the id column."""
    # The first condition is redundant, but lets the database start in the index at this time.
    return Q(at__lte=cursor.at) & (Q(at__lt=cursor.at) | Q((f"{key}__lt", cursor.key)))


def not_behind(cursor: Cursor) -> Q:
    """Return the condition of rows up to the cursor, its own row included."""
    return Q(at__gte=cursor.at) & (Q(at__gt=cursor.at) | Q(pk__gte=cursor.key))


def _end_of_budget(candidates: QuerySet[Row], budget: int) -> Cursor | None:
    """Return the last row within the budget, None if all rows are within it."""
    last = [Cursor(*row) for row in candidates.values_list("at", "pk")[budget - 1 : budget + 1]]
    return last[0] if len(last) > 1 else None
