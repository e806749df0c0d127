"""Read the recorded requests of a window in chunks, newest first; one query per chunk. Read-only."""

from collections.abc import Iterator
from datetime import datetime
from types import SimpleNamespace

from django.db.models import F, Q, TextField
from django.db.models.functions import Cast

from audit.models import AccessLog
from audit.querying import keyset
from audit.querying.keyset import Cursor
from audit.spool.records import AccessRecord, Kind
from audit.spool.rows import COLUMNS, RECORDED, record_of_row

PIECE = 2_000
# As text: many rows have equal rules and credentials, and each text is parsed only once.
_TEXTS = {
    f"{field.name}_text": Cast(F(field.name), TextField())
    for field in RECORDED
    if field.kind in {Kind.RULES, Kind.JSON}
}


def number_of(start: datetime, end: datetime, most: int) -> int:
    """Return the number of requests recorded from ``start`` (inclusive) to ``end``, at most ``most``."""
    return AccessLog.objects.filter(at__gte=start, at__lt=end).order_by()[:most].count()


def pieces(start: datetime, end: datetime, most: int) -> Iterator[list[AccessRecord]]:
    """Yield the newest ``most`` requests of the window, in chunks."""
    rows = AccessLog.objects.filter(at__gte=start).order_by(*keyset.NEWEST_FIRST).annotate(**_TEXTS)
    columns = [f"{name}_text" if f"{name}_text" in _TEXTS else name for name in COLUMNS]
    position, left = Q(at__lt=end), most
    while left > 0:
        values = rows.filter(position).values_list(*columns)[: min(PIECE, left)]
        piece = [SimpleNamespace(**dict(zip(COLUMNS, each, strict=True))) for each in values]
        if not piece:
            return
        yield [record_of_row(row) for row in piece]
        left -= len(piece)
        position = keyset.behind(Cursor(piece[-1].at, piece[-1].decision_id))
