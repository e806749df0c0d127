"""Adds what was counted of a batch to the counts per minute and per row, in the caller's transaction.

Rows are always taken in one order, so that two hosts that count the same minute wait for each other
and never for good.
"""

from collections import Counter
from datetime import UTC, datetime

from django.db import connection

from audit.counts import EXACT, MAX_KEYS, OTHER, Counts
from audit.models import MinuteCount

_ADD_MINUTE = (
    "INSERT INTO audit_minutecount (minute, kind, key, count) VALUES (%s, %s, %s, %s) "
    "ON CONFLICT (minute, kind, key) DO UPDATE SET count = audit_minutecount.count + excluded.count"
)
_ADD_USE = (
    "INSERT INTO audit_usecount (kind, row_id, count, last_at) VALUES (%s, %s, %s, %s) "
    "ON CONFLICT (kind, row_id) DO UPDATE SET count = audit_usecount.count + excluded.count, "
    "last_at = CASE WHEN excluded.last_at > audit_usecount.last_at THEN excluded.last_at "
    "ELSE audit_usecount.last_at END"
)


def add_counts(counts: Counts) -> None:
    """Add these counts to those of the database."""
    minutes = sorted(
        (minute, kind, key, number)
        for (minute, kind), keys in counts.minutes.items()
        for key, number in _bounded(minute, kind, keys).items()
    )
    uses = sorted(
        (kind, row_id, used.count, datetime.fromtimestamp(used.last_at, UTC))
        for (kind, row_id), used in counts.uses.items()
    )
    with connection.cursor() as cursor:
        if minutes:
            cursor.executemany(_ADD_MINUTE, [(_moment(row[0]), *row[1:]) for row in minutes])
        if uses:
            cursor.executemany(_ADD_USE, [(*row[:3], _moment(row[3])) for row in uses])


def _bounded(minute: datetime, kind: str, keys: Counter[str]) -> Counter[str]:
    """Return the counts with the keys for which the minute has no room under one name."""
    if kind in EXACT:
        return keys
    there = set(MinuteCount.objects.filter(minute=minute, kind=kind).values_list("key", flat=True))
    new = [key for key, _number in keys.most_common() if key not in there]
    crowd = set(new[max(0, MAX_KEYS - len(there)) :])
    kept = Counter({key: number for key, number in keys.items() if key not in crowd})
    if crowd:
        kept[OTHER] += sum(number for key, number in keys.items() if key in crowd)
    return kept


def _moment(value: datetime) -> object:
    """Return a moment as Django writes it to this database."""
    return connection.ops.adapt_datetimefield_value(value)


def prune(before: datetime) -> int:
    """Delete the counts of minutes before this moment; return how many."""
    return MinuteCount.objects.filter(minute__lt=before).delete()[0]
