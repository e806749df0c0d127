"""Add the counts of a batch to the roll-ups per span and per row, in the caller's transaction."""

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any

from django.db import connection
from django.db.models import Q, QuerySet

from audit.counting.counts import EXACT, KEYS, KINDS, Counts, Place
from audit.counting.summaries import Summary
from audit.models import SpanCount, UseCount

_MINUTES_AT_ONCE = 100
"""Limits statements and memory for a batch of many minutes, e.g. after an outage."""
_USES_AT_ONCE = 1_000
_LOCK = 0x67_77_6C_6F_67  # "gwlog"
_ADD_USE = (
    "INSERT INTO audit_usecount (kind, row_id, count, last_at, last_by) VALUES (%s, %s, %s, %s, %s) "
    "ON CONFLICT (kind, row_id) DO UPDATE SET count = audit_usecount.count + excluded.count, "
    "last_by = CASE WHEN excluded.last_at > audit_usecount.last_at THEN excluded.last_by "
    "ELSE audit_usecount.last_by END, "
    "last_at = CASE WHEN excluded.last_at > audit_usecount.last_at THEN excluded.last_at "
    "ELSE audit_usecount.last_at END"
)


def add_counts(counts: Counts) -> None:
    """Add these counts to those of the database."""
    if counts.minutes or counts.uses:
        _lock_until_commit()
    for spans in counts.portions(_MINUTES_AT_ONCE):
        _add_spans(spans)
    moment = connection.ops.adapt_datetimefield_value
    uses = [
        (kind, row_id, used.count, moment(datetime.fromtimestamp(used.last_at, UTC)), used.last_by)
        for (kind, row_id), used in sorted(counts.uses.items())
    ]
    if uses:
        with connection.cursor() as cursor:
            cursor.executemany(_ADD_USE, uses)


def _lock_until_commit() -> None:
    """Serialize hosts until the commit: summaries are read, changed and written back.

    All hosts update the same day anyway. On SQLite there is one writer.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])


def _add_spans(spans: dict[Place, Summary]) -> None:
    for place, summary in _stored(spans):
        spans[place].add(summary)
    for (kind, width, _start), summary in spans.items():
        if kind not in EXACT:
            summary.cut(KEYS[width])
    SpanCount.objects.bulk_create(
        (
            SpanCount(kind=kind, width=width, start=_utc(start), counts=summary.to_text(), error=summary.error)
            for (kind, width, start), summary in spans.items()
        ),
        update_conflicts=True,
        unique_fields=["kind", "width", "start"],
        update_fields=["counts", "error"],
    )


def _stored(places: Collection[Place]) -> list[tuple[Place, Summary]]:
    """Return the stored summaries of these places."""
    starts: dict[int, set[datetime]] = {}
    for _kind, width, start in places:
        starts.setdefault(width, set()).add(_utc(start))
    chosen = Q(pk__in=[])
    for width, moments in starts.items():
        chosen |= Q(kind__in=KINDS, width=width, start__in=moments)
    rows = SpanCount.objects.filter(chosen).values_list("kind", "width", "start", "counts", "error")
    found = [((kind, width, int(start.timestamp())), text, error) for kind, width, start, text, error in rows]
    return [(place, Summary.from_text(text, error)) for place, text, error in found if place in places]


def _utc(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def prune(before: datetime) -> int:
    """Delete the counts of spans that ended before this time; return how many."""
    deleted = 0
    for width in KEYS:
        first_kept = _utc(int(before.timestamp()) // width * width)
        deleted += SpanCount.objects.filter(kind__in=KINDS, width=width, start__lt=first_kept).delete()[0]
    return deleted


def prune_uses(kind: str, there: QuerySet[Any, Any], before: datetime) -> int:
    """Delete the uses of rows that are not in ``there`` (ids) and were last used before this time.

    At most 1,000 at once; return how many.
    """
    gone = UseCount.objects.filter(kind=kind, last_at__lt=before).exclude(row_id__in=there)
    return UseCount.objects.filter(pk__in=list(gone.values_list("pk", flat=True)[:_USES_AT_ONCE])).delete()[0]
