"""Re-encrypt sealed columns with the first data key, row by row, while in use."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Model, QuerySet

from gatewall.credentials.sealing import SealBroken, Sealer, kid_of

_BATCH = 500
_TRIES = 3


@dataclass(frozen=True)
class Resealed:
    """Counts of rows re-encrypted, not done because of concurrent changes, and undecryptable; kids still needed."""

    done: int
    left: int
    broken: int
    needed: frozenset[str]


def reseal(rows: QuerySet[Any], field: str, context: Callable[[Any], str], sealer: Sealer) -> Resealed:
    """Re-encrypt a column of these rows wherever it is not sealed with the first key.

    Each row is updated on its own by compare-and-swap: concurrent changes win, and a killed run can be repeated.
    ``context`` returns a row's context.
    """
    outcomes, needed = Counter[str](), set[str]()
    for row in _in_batches(rows):
        outcome = _reseal_row(rows, row, field, context, sealer)
        outcomes[outcome] += 1
        if outcome == "changing":
            needed |= _kids(rows, row, field)
    return Resealed(outcomes["done"], outcomes["changing"], outcomes["broken"], frozenset(needed))


def _in_batches(rows: QuerySet[Any]) -> Iterator[Model]:
    last = None
    ordered = rows.order_by("pk")
    while batch := list((ordered.filter(pk__gt=last) if last is not None else ordered)[:_BATCH]):
        yield from batch
        last = batch[-1].pk


def _reseal_row(rows: QuerySet[Any], row: Any, field: str, context: Callable[[Any], str], sealer: Sealer) -> str:
    """Return the outcome of a row: done, clean, broken, gone or changing."""
    for _ in range(_TRIES):
        sealed = getattr(row, field)
        if not sealed:
            return "clean"
        try:
            if not sealer.needs_resealing(sealed):
                return "clean"
            fresh = sealer.seal(sealer.open(sealed, context=context(row)), context=context(row))
        except SealBroken:
            return "broken"
        if rows.filter(pk=row.pk, **{field: sealed}).update(**{field: fresh}):
            return "done"
        row = rows.filter(pk=row.pk).first()
        if row is None:
            return "gone"
    return "changing"


def _kids(rows: QuerySet[Any], row: Any, field: str) -> set[str]:
    sealed = rows.filter(pk=row.pk).values_list(field, flat=True).first()
    try:
        return {kid_of(sealed)} if sealed else set()
    except SealBroken:
        return set()
