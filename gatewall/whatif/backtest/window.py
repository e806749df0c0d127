"""The recorded requests of a window, newest first, in pieces: no query outlives its piece. Reads only."""

from collections.abc import Iterator
from datetime import datetime
from itertools import chain

from django.db.models import F, Q, TextField
from django.db.models.functions import Cast

from audit.models import AccessLog
from gatewall.replay.recorded import Row

PIECE = 2_000
_JSON = ("rules", "credential", "visible")
_COLUMNS = [name for name in Row._fields if name not in _JSON]
_TEXTS = {f"{name}_text": Cast(F(name), TextField()) for name in _JSON}


def number_of(start: datetime, end: datetime, most: int) -> int:
    """Return how many requests were recorded from ``start`` on and before ``end``, ``most`` if there are more."""
    return AccessLog.objects.filter(at__gte=start, at__lt=end).order_by()[:most].count()


def pieces(start: datetime, end: datetime, most: int) -> Iterator[list[Row]]:
    """Yield the newest requests of the window, ``most`` of them at most."""
    rows = AccessLog.objects.filter(at__gte=start).order_by("-at", "-decision_id").annotate(**_TEXTS)
    behind, left = Q(at__lt=end), most
    while left > 0:
        values = rows.filter(behind).values_list(*_COLUMNS, *_TEXTS)[: min(PIECE, left)]
        piece = [Row(*each) for each in values]
        if not piece:
            return
        yield piece
        left -= len(piece)
        last = piece[-1]
        behind = Q(at__lte=last.at) & (Q(at__lt=last.at) | Q(decision_id__lt=last.decision_id))


def all_rows(start: datetime, end: datetime, most: int) -> Iterator[Row]:
    """Yield the same one by one."""
    return chain.from_iterable(pieces(start, end, most))
