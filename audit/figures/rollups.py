"""Add the counts of a batch to the roll-ups per span and per row, in the caller's transaction."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from audit.counting.counts import EXACT, KEYS, KINDS, Counts, Place
from audit.counting.summaries import Summary
from audit.models import SpanCount, UseCount

_MINUTES_AT_ONCE = 100
"""Limits statements and memory for a batch of many minutes, e.g. after an outage."""
_USES_AT_ONCE = 1_000
_LOCK = 0x67_77_6C_6F_67  # "gwlog"
# Plain SQL: Django takes longer to build these statements than the database to run them.
_SPANS = (
    "WITH wanted (number, kind, width, start) AS (VALUES {wanted}) "
    "SELECT wanted.number, span.counts, span.error FROM wanted JOIN audit_spancount span "
    "ON span.kind = wanted.kind AND span.width = wanted.width AND span.start = wanted.start"
)
_ADD_SPAN = (
    "INSERT INTO audit_spancount (kind, width, start, counts, error) VALUES (%s, %s, %s, %s, %s) "
    "ON CONFLICT (kind, width, start) DO UPDATE SET counts = excluded.counts, error = excluded.error"
)
_ADD_USE = (
    "INSERT INTO audit_usecount (kind, row_id, count, last_at, last_by) VALUES (%s, %s, %s, %s, %s) "
    "ON CONFLICT (kind, row_id) DO UPDATE SET count = audit_usecount.count + excluded.count, "
    "last_by = CASE WHEN excluded.last_at > audit_usecount.last_at THEN excluded.last_by "
    "ELSE audit_usecount.last_by END, "
    "last_at = CASE WHEN excluded.last_at > audit_usecount.last_at THEN excluded.last_at "
    "ELSE audit_usecount.last_at END"
)


def add_counts(counts: Counts) -> None:
    """Add these counts to the counts in the database."""
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
    moment = connection.ops.adapt_datetimefield_value
    moments = {start: moment(_utc(start)) for start in {start for _, _, start in spans}}
    keys = {place: (kind, width, moments[start]) for place in spans for kind, width, start in [place]}
    for place, summary in _stored(keys):
        summary.add(spans[place])  # faster in this direction: a batch has fewer keys than the stored summary
        spans[place] = summary
    for (kind, width, _start), summary in spans.items():
        if kind not in EXACT:
            summary.cut(KEYS[width])
    with connection.cursor() as cursor:
        cursor.executemany(
            _ADD_SPAN, [(*keys[place], summary.to_text(), summary.error) for place, summary in spans.items()]
        )


def _stored(keys: Mapping[Place, tuple[str, int, Any]]) -> list[tuple[Place, Summary]]:
    """Return the stored summaries of these spans; ``keys``: their column values."""
    places = list(keys)
    wanted = ", ".join(["(%s, %s, %s, %s)"] * len(places))
    with connection.cursor() as cursor:
        values = (part for number, place in enumerate(places) for part in (number, *keys[place]))
        cursor.execute(_SPANS.format(wanted=wanted), list(values))
        return [(places[number], Summary.from_text(text, error)) for number, text, error in cursor.fetchall()]


def _utc(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def prune(before: datetime) -> int:
    """Delete the counts of spans that ended before this time; return the number of deleted rows."""
    deleted = 0
    for width in KEYS:
        first_kept = _utc(int(before.timestamp()) // width * width)
        deleted += SpanCount.objects.filter(kind__in=KINDS, width=width, start__lt=first_kept).delete()[0]
    return deleted


def prune_uses(kind: str, existing: QuerySet[Any, Any], before: datetime) -> int:
    """Delete the uses of rows whose ids are not in ``existing`` and that were last used before this time.

    Deletes at most 1,000 at once, and returns the number.
    """
    gone = UseCount.objects.filter(kind=kind, last_at__lt=before).exclude(row_id__in=existing)
    return UseCount.objects.filter(pk__in=list(gone.values_list("pk", flat=True)[:_USES_AT_ONCE])).delete()[0]
