"""The recorded requests of a window, newest first, in pieces: no query outlives its piece. Reads only."""

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
# As texts: many rows have the same rules and credentials, and each text is parsed once.
_TEXTS = {
    f"{field.name}_text": Cast(F(field.name), TextField())
    for field in RECORDED
    if field.kind in {Kind.RULES, Kind.JSON}
}


def number_of(start: datetime, end: datetime, most: int) -> int:
    """Return how many requests were recorded from ``start`` on and before ``end``, ``most`` if there are more."""
    return AccessLog.objects.filter(at__gte=start, at__lt=end).order_by()[:most].count()


def pieces(start: datetime, end: datetime, most: int) -> Iterator[list[AccessRecord]]:
    """Yield the newest requests of the window, ``most`` of them at most."""
    rows = AccessLog.objects.filter(at__gte=start).order_by(*keyset.NEWEST_FIRST).annotate(**_TEXTS)
    columns = [f"{name}_text" if f"{name}_text" in _TEXTS else name for name in COLUMNS]
    place, left = Q(at__lt=end), most
    while left > 0:
        values = rows.filter(place).values_list(*columns)[: min(PIECE, left)]
        piece = [SimpleNamespace(**dict(zip(COLUMNS, each, strict=True))) for each in values]
        if not piece:
            return
        yield [record_of_row(row) for row in piece]
        left -= len(piece)
        place = keyset.behind(Cursor(piece[-1].at, piece[-1].decision_id))
