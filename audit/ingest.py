"""From a host's spool to the database: nothing is lost, nothing is there twice.

A batch of records, what is counted of it, and how far the segment was read are one transaction. A
segment's file is removed after that; when somebody dies in between, the position says that nothing of
it is missing.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from audit import partitions, spool
from audit.counts import Counts, counted
from audit.frames import frames
from audit.models import LogGap, SpoolSegment
from audit.records import AccessRecord, Gap, RecordRefused
from audit.rollups import add_counts
from audit.rows import COLUMNS, row_of, rules_of
from audit.spool import Segment

logger = logging.getLogger(__name__)

BATCH_BYTES = 4 * 1024 * 1024
# The names are ours, above.
_LOG = f"INSERT INTO audit_accesslog ({', '.join(COLUMNS)}) VALUES ({', '.join(['%s'] * len(COLUMNS))})"  # noqa: S608
_RULES = "INSERT INTO audit_accesslogrule (rule_id, at, decision_id) VALUES (%s, %s, %s)"


@dataclass(slots=True)
class Batch:
    """The pieces of a segment from one position to another."""

    end: int
    records: list[AccessRecord] = field(default_factory=list)
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    rules: list[tuple[Any, ...]] = field(default_factory=list)
    gaps: list[LogGap] = field(default_factory=list)


def ship(folder: Path) -> int:
    """Bring what is in the spool to the database; return how many records. Raises OSError, django.db.Error."""
    return sum(_ship_file(path) for path in spool.segment_files(folder))


def _ship_file(path: Path) -> int:
    # Asked first: what is read after nobody writes any more is all there will ever be.
    finished = not spool.is_being_written(path)
    segment = spool.segment_of(path)
    if segment is None:
        _set_aside(path, finished=finished)
        return 0
    shipped = 0
    while (number := _ship_batch(path, segment)) is not None:
        shipped += number
    if finished:
        path.unlink()
    return shipped


def _ship_batch(path: Path, segment: Segment) -> int | None:
    """Return how many records the next batch had, or None if there is nothing (more) to ship."""
    with transaction.atomic():
        position = _position(segment)
        batch = _batch(segment, position, spool.read_from(path, position, BATCH_BYTES))
        if batch.end == position:
            return None
        partitions.prepare({partitions.day_of(row[1]) for row in batch.rows}, timezone.now().date())
        _insert(batch)
        add_counts(counted(batch.records) if batch.records else Counts())
        LogGap.objects.bulk_create(batch.gaps)
        values = {"node": segment.node, "position": batch.end, "shipped_at": timezone.now()}
        SpoolSegment.objects.update_or_create(pk=segment.id, defaults=values)
    return len(batch.records)


def _position(segment: Segment) -> int:
    row = SpoolSegment.objects.select_for_update().filter(pk=segment.id).first()
    return segment.first if row is None else row.position


def _batch(segment: Segment, position: int, data: bytes) -> Batch:
    batch = Batch(position)
    for frame in frames(data, 0):
        batch.end = position + frame.end
        try:
            _add(batch, segment.node, frame.record)
        except RecordRefused as error:
            logger.error("access log: a record of segment %s is not kept: %s", segment.id, error)  # noqa: TRY400
            batch.gaps.append(_gap(segment.node, "damaged", 1))
    return batch


def _add(batch: Batch, node: str, data: bytes | None) -> None:
    if data is None:
        raise RecordRefused("damaged")
    if gap := Gap.from_bytes(data):
        batch.gaps.append(_gap(node, "dropped", gap.count, datetime.fromtimestamp(gap.at, UTC)))
        return
    record = AccessRecord.from_bytes(data)
    row = row_of(record, node)
    batch.rules += rules_of(record, row)
    batch.rows.append(row)
    batch.records.append(record)


def _gap(node: str, kind: str, count: int, at: datetime | None = None) -> LogGap:
    return LogGap(node=node, at=at or timezone.now(), kind=kind, count=count)


def _insert(batch: Batch) -> None:
    if connection.vendor == "postgresql":
        _copy("audit_accesslog", COLUMNS, batch.rows)
        _copy("audit_accesslogrule", ("rule_id", "at", "decision_id"), batch.rules)
        return
    # As Django writes them to a database that knows neither moments nor UUIDs.
    moment = connection.ops.adapt_datetimefield_value
    with connection.cursor() as cursor:
        cursor.executemany(_LOG, [(row[0].hex, moment(row[1]), *row[2:]) for row in batch.rows])
        cursor.executemany(_RULES, [(rule, moment(at), key.hex) for rule, at, key in batch.rules])


def _copy(table: str, columns: Iterable[str], rows: Iterable[tuple[Any, ...]]) -> None:
    with connection.cursor() as cursor, cursor.copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)


def _set_aside(path: Path, *, finished: bool) -> None:
    """Rename a segment whose head cannot be read, so that it is looked at by a person and blocks nothing."""
    if finished:
        path.rename(path.with_suffix(".damaged"))
        LogGap.objects.bulk_create([_gap("", "damaged", 1)])
        logger.error("access log: %s cannot be read and is set aside", path.name)
