"""Cut a window of recorded requests into slices, and read a slice in chunks, one query each. Read-only."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import SimpleNamespace

from django.db.models import F, Q, QuerySet, TextField
from django.db.models.functions import Cast

from audit.models import AccessLog
from audit.querying import keyset
from audit.querying.keyset import Cursor
from audit.spool.records import AccessRecord, Kind
from audit.spool.rows import COLUMNS, RECORDED, record_of_row

PIECE = 2_000
SLICE = 10_000
"""Rows of a slice. A fixed number, so that the result does not depend on the number of processes."""
# As text: many rows have equal rules and credentials, and each text is parsed only once.
_TEXTS = {
    f"{field.name}_text": Cast(F(field.name), TextField())
    for field in RECORDED
    if field.kind in {Kind.RULES, Kind.JSON}
}


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of a window: the rows after ``after`` to ``last``, newest first; None: to the start of the window.

    Positions are keys, not row numbers, so that each row belongs to exactly one slice, even if rows arrive or are
    deleted meanwhile. ``number``: how many rows the slice had when the window was cut.
    """

    start: datetime
    end: datetime
    after: Cursor | None
    last: Cursor | None
    number: int


def slices(start: datetime, end: datetime, most: int) -> list[Slice]:
    """Cut the newest ``most`` requests of a window into slices, newest first.

    The window ends at the currently newest row: rows that are recorded later do not belong to it.
    """
    rows = _rows(start)
    newest = rows.filter(at__lt=end).values_list("at", flat=True).first()
    if newest is None:
        return []
    end = newest + timedelta(microseconds=1)
    found, after, left = list[Slice](), None, most
    while left > 0:
        size = min(SLICE, left)
        rest = rows.filter(_behind(end, after))
        last = next((Cursor(*row) for row in rest.values_list("at", "pk")[size - 1 : size]), None)
        number = size if last else rest.order_by().count()
        if number:
            found.append(Slice(start, end, after, last, number))
        if last is None:
            break
        after, left = last, left - size
    return found


def pieces(part: Slice) -> Iterator[list[AccessRecord]]:
    """Yield the requests of a slice in chunks, newest first."""
    rows = _rows(part.start).annotate(**_TEXTS)
    if part.last is not None:
        rows = rows.filter(keyset.not_behind(part.last))
    columns = [f"{name}_text" if f"{name}_text" in _TEXTS else name for name in COLUMNS]
    after = part.after
    while True:
        values = rows.filter(_behind(part.end, after)).values_list(*columns)[:PIECE]
        piece = [SimpleNamespace(**dict(zip(COLUMNS, each, strict=True))) for each in values]
        if piece:
            yield [record_of_row(row) for row in piece]
        if len(piece) < PIECE:
            return
        after = Cursor(piece[-1].at, piece[-1].decision_id)


def _rows(start: datetime) -> QuerySet[AccessLog]:
    return AccessLog.objects.filter(at__gte=start).order_by(*keyset.NEWEST_FIRST)


def _behind(end: datetime, after: Cursor | None) -> Q:
    return Q(at__lt=end) if after is None else keyset.behind(after)
