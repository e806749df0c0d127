"""From a host's spool to the database: nothing is lost, nothing is there twice.

A batch of records, what is counted of it, and how far the segment was read are one transaction. A
segment's file is removed after that; when somebody dies in between, the position says that nothing of
it is missing. What cannot be a row is set aside as a file, and told as a gap.
"""

import logging
import uuid
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.db import DataError, IntegrityError, connection, transaction
from django.utils import timezone

from audit import aside, partitions, tallies, write_lock
from audit.blocked_requests import count_blocked
from audit.counts import counted
from audit.event_kinds import EventKind
from audit.events import Event, Tally, count_events
from audit.frames import frames
from audit.losses import SUFFIX as LOSSES
from audit.losses import loss_files, losses_of
from audit.models import GapKind, LogGap, SpoolSegment
from audit.records import AccessRecord, RecordRefused
from audit.rollups import add_counts
from audit.rows import COLUMNS, row_of
from audit.segments import SEGMENT_BYTES, Looked, Segment, is_being_written, read_from, segment_files, segment_of

logger = logging.getLogger(__name__)

BATCH_BYTES = 1024 * 1024
# Those of the database, and those of its driver for values that it cannot even send.
_REFUSALS = (DataError, IntegrityError, ValueError, TypeError, OverflowError)
_LOG = f"INSERT INTO audit_accesslog ({', '.join(COLUMNS)}) VALUES ({', '.join(['%s'] * len(COLUMNS))})"  # noqa: S608 - our own names
_RULES = "INSERT INTO audit_accesslogrule (rule_id, at, decision_id) VALUES (%s, %s, %s)"


@dataclass(frozen=True, slots=True)
class Row:
    """A record, its columns, and its bytes as they were spooled."""

    record: AccessRecord
    columns: tuple[Any, ...]
    data: bytes


@dataclass(slots=True)
class Batch:
    """The pieces of a segment from one position to another: what can be rows, and what cannot."""

    segment: Segment
    end: int
    rows: list[Row] = field(default_factory=list)
    bad: list[bytes] = field(default_factory=list)


Stop = Callable[[], bool]
Witness = Callable[[AccessRecord], None]


def ship(
    folder: Path,
    looked: Looked | None = None,
    should_stop: Stop = lambda: False,
    saw: Witness | None = None,
) -> int:
    """Bring what is in the spool to the database, until told to stop; return how many records. Raises django.db.Error.

    ``saw`` is called with each record once it is there, and must not raise.
    ``looked`` is what passes of one process remember, so that a file in which nothing is new costs no query.
    Raises OSError for the first file that cannot be read, when all others are shipped.
    """
    looked = {} if looked is None else looked
    shipped, failed = 0, []
    for path in (*loss_files(folder), *segment_files(folder)):
        if should_stop():
            break
        try:
            shipped += _ship_file(path, looked, should_stop, saw)
        except OSError as error:
            failed.append(error)
    if failed:
        raise failed[0]
    return shipped


def forget(folder: Path, node: str, before: datetime) -> None:
    """Forget how far files of this host were read that were shipped before this moment and are gone from its spool.

    What still lies there, however long, is never read from its beginning again.
    """
    try:
        files = [*map(segment_of, segment_files(folder)), *map(losses_of, loss_files(folder))]
    except OSError:
        return  # one that cannot be read is there as well
    there = [file.id for file in files if file is not None]
    SpoolSegment.objects.filter(node=node, shipped_at__lt=before).exclude(pk__in=there).delete()


def _ship_file(path: Path, looked: Looked, should_stop: Stop, saw: Witness | None) -> int:
    if path.suffix == LOSSES:
        return _book_losses(path, looked)
    finished = not is_being_written(path)  # asked first: after that, what is read is all there will ever be
    shipped = _ship_segment(path, looked, should_stop, saw, finished=finished)
    if finished and not path.exists():
        looked.pop(path, None)
    return shipped


def _book_losses(path: Path, looked: Looked) -> int:
    """Write down as a gap what a process of this host could not spool, each record once.

    The file stays: the next process that begins goes on with it.
    """
    losses = losses_of(path)
    if losses is None:
        return 0 if is_being_written(path) else _set_aside(path)
    if looked.get(path) != (losses.count, 0):
        with transaction.atomic():
            told = _claim(losses.id, losses.node, 0) if losses.count else 0
            if losses.count > told:
                at = datetime.fromtimestamp(losses.at, UTC) if losses.at else timezone.now()
                _tell(losses.node, GapKind.DROPPED, losses.count - told, at)
                _move(losses.id, losses.node, losses.count)
        looked[path] = losses.count, 0
    return 0


def _ship_segment(path: Path, looked: Looked, should_stop: Stop, saw: Witness | None, *, finished: bool) -> int:
    size = path.stat().st_size
    if not finished and path in looked and looked[path][0] == size:
        return 0
    segment = segment_of(path)
    if segment is None:
        return _set_aside(path) if finished else 0
    shipped, position = 0, _position(segment.id) or segment.first
    while (batch := _next_batch(path, segment, position)).end > position:
        with write_lock.shared() if batch.end < size else nullcontext():
            inserted = _insert_batch(path, position, batch)
        if inserted is None:
            return shipped  # the next pass begins where the other one is
        shipped, position = shipped + len(inserted), batch.end
        if saw is not None:
            for row in inserted:
                saw(row.record)
        looked[path] = position, 0
        if should_stop():
            return shipped
    waiting = max(0, path.stat().st_size - position)
    looked[path] = position + waiting, waiting
    if finished:
        _bury(path, segment, waiting)
    return shipped


def _next_batch(path: Path, segment: Segment, position: int) -> Batch:
    """Return what comes next in a file; where there is nothing for so long that no frame can be, look further."""
    batch = _batch(segment, position, read_from(path, position, BATCH_BYTES))
    if batch.end > position or path.stat().st_size - position < BATCH_BYTES:
        return batch
    return _batch(segment, position, read_from(path, position, SEGMENT_BYTES))


def _insert_batch(path: Path, position: int, batch: Batch) -> list[Row] | None:
    """Insert a batch that begins at this position; return what of it are rows, or None if somebody was faster."""
    counts = counted(row.record for row in batch.rows)  # the lock is held for as little as possible
    with transaction.atomic():
        _commit_for_sure()
        if _claim(batch.segment.id, batch.segment.node, batch.segment.first) != position:
            return None
        partitions.prepare({partitions.day_of(row.columns[1]) for row in batch.rows}, timezone.now().date())
        kept = _insert(batch.rows, batch.bad)
        add_counts(counts if len(kept) == len(batch.rows) else counted(row.record for row in kept))
        count_blocked(row.record for row in kept)
        for number, data in enumerate(batch.bad):
            aside.keep(path, position, number, data)
        if batch.bad:
            logger.error("access log: %d records of segment %s are set aside", len(batch.bad), batch.segment.id)
            _tell(batch.segment.node, GapKind.DAMAGED, len(batch.bad))
        _move(batch.segment.id, batch.segment.node, batch.end)
    return kept


def _commit_for_sure() -> None:
    """On PostgreSQL, wait for the disk at this commit whatever the server's default: the file goes after it."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL synchronous_commit TO on")


def _position(id_: uuid.UUID) -> int | None:
    """Return how far a file was read, or None."""
    return SpoolSegment.objects.filter(pk=id_).values_list("position", flat=True).first()


def _claim(id_: uuid.UUID, node: str, first: int) -> int:
    """Return how far a file was read, ``first`` if it was not yet. Nobody else reads it until the transaction ends."""
    rows = SpoolSegment.objects.select_for_update().filter(pk=id_).values_list("position", flat=True)
    if (position := rows.first()) is None:
        # There is no row to lock: of two who make it, one waits for the other here.
        made = SpoolSegment(id=id_, node=node, position=first, shipped_at=timezone.now())
        SpoolSegment.objects.bulk_create([made], ignore_conflicts=True)
        position = rows.get()
    return position


def _move(id_: uuid.UUID, node: str, position: int) -> None:
    values = {"node": node, "position": position, "shipped_at": timezone.now()}
    SpoolSegment.objects.update_or_create(pk=id_, defaults=values)


def _tell(node: str, kind: GapKind, count: int, at: datetime | None = None) -> None:
    LogGap.objects.create(node=node, at=at or timezone.now(), kind=kind, count=count)
    gap = Event(EventKind.LOG_GAP, timezone.now(), detail={"node": node, "gap": kind.value})
    count_events([Tally(gap, f"{node} {kind.value}", count)])
    tallies.add(tallies.lost(kind), count)


def _batch(segment: Segment, position: int, data: bytes) -> Batch:
    batch = Batch(segment, position)
    for frame in frames(data, 0):
        start, batch.end = batch.end, position + frame.end
        try:
            record = AccessRecord.from_bytes(frame.record or b"")  # damaged: bytes that are none
            batch.rows.append(Row(record, row_of(record, segment.node), frame.record or b""))
        except RecordRefused:
            batch.bad.append(data[start - position : frame.end])
    return batch


def _insert(rows: list[Row], bad: list[bytes]) -> list[Row]:
    """Insert these rows and return them; what the database refuses is found by halving and goes to ``bad``."""
    if not rows:
        return []
    try:
        with transaction.atomic():
            _insert_all(rows)
    except _REFUSALS:
        if len(rows) == 1:
            bad.append(rows[0].data)
            return []
        middle = len(rows) // 2
        return _insert(rows[:middle], bad) + _insert(rows[middle:], bad)
    return rows


def _insert_all(rows: list[Row]) -> None:
    rules = [(rule["id"], row.columns[1], row.columns[0]) for row in rows for rule in row.record.rules]
    if connection.vendor == "postgresql":
        _copy("audit_accesslog", COLUMNS, (row.columns for row in rows))
        _copy("audit_accesslogrule", ("rule_id", "at", "decision_id"), rules)
        return
    # As Django writes them to a database that knows neither moments nor UUIDs.
    moment = connection.ops.adapt_datetimefield_value
    columns = (row.columns for row in rows)
    with connection.cursor() as cursor:
        cursor.executemany(_LOG, [(key.hex, moment(at), *others) for key, at, *others in columns])
        cursor.executemany(_RULES, [(rule, moment(at), key.hex) for rule, at, key in rules])


def _copy(table: str, columns: Iterable[str], rows: Iterable[tuple[Any, ...]]) -> None:
    # What the driver raises here, Django would not turn into its own errors by itself.
    with (
        connection.wrap_database_errors,
        connection.cursor() as cursor,
        cursor.copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN") as copy,
    ):
        for row in rows:
            copy.write_row(row)


def _set_aside(path: Path) -> int:
    """Keep a file that does not say whose it is for a person to look at, where it blocks nothing."""
    aside.rename(path)
    _tell("", GapKind.DAMAGED, 1)
    return 0


def _bury(path: Path, segment: Segment, torn_bytes: int) -> None:
    """Remove a segment that is in the database; the piece of a record at its end is kept and told.

    Somebody was killed while he wrote it, and then it was never answered; or the disk lost what followed.
    """
    if torn_bytes > 0:
        size = path.stat().st_size
        with transaction.atomic():
            _commit_for_sure()
            if _claim(segment.id, segment.node, segment.first) < size:
                aside.keep(path, size - torn_bytes, 0, read_from(path, size - torn_bytes, torn_bytes))
                _tell(segment.node, GapKind.TORN, 1)
                _move(segment.id, segment.node, size)
    path.unlink()
