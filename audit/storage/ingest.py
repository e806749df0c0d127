"""Ship a host's spool to the database, exactly once.

New records of several segments, their counts and the read positions are one transaction. The file is removed
afterwards; after a crash in between, the position shows that the file is completely shipped. Unreadable bytes are
quarantined and recorded as a gap.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from django.db import connection, transaction
from django.utils import timezone

from audit.counting.counts import counted
from audit.event_kinds import EventKind
from audit.events.blocked_requests import count_blocked
from audit.events.recording import Event, EventCount, count_events
from audit.figures import counters
from audit.figures.rollups import add_counts
from audit.models import GapKind, LogGap, SpoolSegment
from audit.spool.amendments import Amendment
from audit.spool.batches import Batch, Row, batches
from audit.spool.losses import SUFFIX as LOSSES
from audit.spool.losses import loss_files, losses_of
from audit.spool.records import AccessRecord
from audit.spool.segments import (
    Looked,
    Segment,
    is_being_written,
    quarantine_file,
    quarantine_piece,
    read_from,
    segment_files,
    segment_of,
)
from audit.storage import partitions, positions
from audit.storage.amending import amend
from audit.storage.insert import insert

logger = logging.getLogger(__name__)

BATCH_BYTES = 1024 * 1024
"""Spool bytes per transaction."""
SHORT_BATCH_BYTES = 128 * 1024
"""Spool bytes per transaction on SQLite, where all other writers wait for it: about 200 rows."""
Stop = Callable[[], bool]
OnStored = Callable[[AccessRecord], None]


def ship(
    folder: Path,
    looked: Looked | None = None,
    should_stop: Stop = lambda: False,
    on_stored: OnStored | None = None,
) -> int:
    """Ship the spool to the database until stopped; return the number of records. Raises django.db.Error.

    Calls ``on_stored``, which must not raise, with each stored record. ``looked`` caches file sizes between passes, so
    that unchanged files cost no query. Raises OSError for the first unreadable file, after all others are shipped.
    """
    one_pass = _Pass({} if looked is None else looked, should_stop, on_stored)
    for path in (*loss_files(folder), *segment_files(folder)):
        if should_stop():
            break
        one_pass.take(path)
    one_pass.insert()
    if one_pass.failed:
        raise one_pass.failed[0]
    return one_pass.shipped


def forget(folder: Path, node: str, before: datetime) -> None:
    """Delete the positions of files that were shipped before ``before`` and are gone from the spool.

    Positions of existing files are kept, however old, so that they are not read again from the start.
    """
    try:
        files = [*map(segment_of, segment_files(folder)), *map(losses_of, loss_files(folder))]
    except OSError:
        return  # an unreadable file may have a position, too
    there = [file.id for file in files if file is not None]
    SpoolSegment.objects.filter(node=node, shipped_at__lt=before).exclude(pk__in=there).delete()


@dataclass(frozen=True, slots=True)
class _Read:
    """A segment's file, its read position, and its size at that time."""

    path: Path
    segment: Segment
    position: int
    size: int
    is_finished: bool


@dataclass(slots=True)
class _Pass:
    """A pass through the spool: small batches of several files are inserted together."""

    looked: Looked
    should_stop: Stop
    on_stored: OnStored | None
    shipped: int = 0
    failed: list[OSError] = field(default_factory=list)
    _batches: list[Batch] = field(default_factory=list)
    _bytes: int = 0
    _read: list[_Read] = field(default_factory=list)
    _overtaken: set[Path] = field(default_factory=set)

    def take(self, path: Path) -> None:
        """Read the new records of a file."""
        try:
            if path.suffix == LOSSES:
                _record_losses(path, self.looked)
            else:
                self._take_segment(path)
        except OSError as error:
            self.failed.append(error)

    def insert(self) -> None:
        """Insert the batches, and remove completely read files."""
        taken, read = self._batches, self._read
        self._batches, self._read, self._bytes = [], [], 0
        for batch, rows in zip(taken, _insert_batches(taken), strict=True) if taken else ():
            if rows is None:
                self._overtaken.add(batch.path)
                self.looked.pop(batch.path, None)  # the next pass starts at the other process's position
                continue
            self.shipped += len(rows)
            if self.on_stored is not None:
                for row in rows:
                    self.on_stored(row.record)
            self.looked[batch.path] = batch.end, 0
        for each in read:
            if each.path not in self._overtaken:
                self._finish(each)

    def _take_segment(self, path: Path) -> None:
        finished = not is_being_written(path)  # checked before reading: no more is written afterwards
        size = path.stat().st_size
        if not finished and path in self.looked and self.looked[path][0] == size:
            return
        segment = segment_of(path)
        if segment is None:
            if finished:
                _quarantine(path)
            return
        position = self._position_of(path, segment, finished=finished)
        for batch in batches(path, segment, position, size, _batch_bytes()):
            position = batch.end
            self._add(batch)
            if path in self._overtaken or (not self._batches and self.should_stop()):
                return
        self._read.append(_Read(path, segment, position, size, finished))

    def _position_of(self, path: Path, segment: Segment, *, finished: bool) -> int:
        """Return the position from which to continue reading.

        For a file that is being written, this is the position of the last pass, which ``positions.claim()`` verifies. A
        finished file may be deleted next, so its position is read from the database, which may have been restored.
        """
        if path in self.looked and not finished:
            size, waiting = self.looked[path]
            return size - waiting
        return positions.find([segment]).get(segment, segment.first)

    def _add(self, batch: Batch) -> None:
        """Queue a batch; insert once a transaction is full."""
        self._batches.append(batch)
        self._bytes += batch.end - batch.start
        if self._bytes >= _batch_bytes() // 2:  # batches of a long file are inserted one by one
            self.insert()

    def _finish(self, read: _Read) -> None:
        waiting = max(0, read.size - read.position)
        self.looked[read.path] = read.position + waiting, waiting
        if not read.is_finished:
            return
        try:
            _remove_shipped(read.path, read.segment, waiting)
        except OSError as error:
            self.failed.append(error)
        else:
            self.looked.pop(read.path, None)


def _record_losses(path: Path, looked: Looked) -> None:
    """Record the losses of this host's processes as gaps. Idempotent.

    The file is kept for the next process.
    """
    losses = losses_of(path)
    if losses is None:
        if not is_being_written(path):
            _quarantine(path)
        return
    if losses.count and looked.get(path) != (losses.count, 0):
        with transaction.atomic():
            whole = Segment(losses.id, losses.node, 0)
            recorded = positions.claim([whole])[whole]
            if losses.count > recorded:
                at = datetime.fromtimestamp(losses.at, UTC) if losses.at else timezone.now()
                _record_gap(losses.node, GapKind.DROPPED, losses.count - recorded, at)
                positions.move({whole: losses.count})
    looked[path] = losses.count, 0


def _batch_bytes() -> int:
    return min(BATCH_BYTES, SHORT_BATCH_BYTES) if connection.vendor == "sqlite" else BATCH_BYTES


def _insert_batches(taken: list[Batch]) -> list[list[Row] | None]:
    """Insert batches in one transaction; return the rows of each, None for one that another process inserted."""
    counts = counted(row.record for batch in taken for row in batch.rows)  # before taking the lock
    inserted: list[list[Row] | None] = []
    amendments: list[Amendment] = []
    with transaction.atomic():
        _require_synchronous_commit()
        reached = positions.claim({batch.segment for batch in taken})
        days = {partitions.day_of(row.columns[1]) for batch in taken for row in batch.rows}
        partitions.prepare(days, timezone.now().date())
        for batch in taken:
            is_next = reached[batch.segment] == batch.start
            inserted.append(insert(batch.rows, batch.bad) if is_next else None)
            if is_next:
                reached[batch.segment] = batch.end
                amendments += batch.amendments
                _quarantine_bad(batch)
        records = [row.record for rows in inserted for row in rows or ()]
        is_all = len(records) == sum(len(batch.rows) for batch in taken)
        add_counts(counts if is_all else counted(records))
        count_blocked(records)
        amend(amendments, {row.columns[0] for rows in inserted for row in rows or ()})
        positions.move(reached)
    return inserted


def _quarantine_bad(batch: Batch) -> None:
    for number, data in enumerate(batch.bad):
        quarantine_piece(batch.path, batch.start, number, data)
    if batch.bad:
        logger.error("access log: %d records of segment %s are set aside", len(batch.bad), batch.segment.id)
        _record_gap(batch.segment.node, GapKind.DAMAGED, len(batch.bad))


def _require_synchronous_commit() -> None:
    """Make this commit synchronous on PostgreSQL, as the file is removed afterwards."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL synchronous_commit TO on")


def _record_gap(node: str, kind: GapKind, count: int, at: datetime | None = None) -> None:
    LogGap.objects.create(node=node, at=at or timezone.now(), kind=kind, count=count)
    gap = Event(EventKind.LOG_GAP, timezone.now(), detail={"node": node, "gap": kind.value})
    count_events([EventCount(gap, f"{node} {kind.value}", count)])
    counters.add(counters.lost(kind), count)


def _quarantine(path: Path) -> None:
    """Quarantine a file with an invalid head."""
    quarantine_file(path)
    _record_gap("", GapKind.DAMAGED, 1)


def _remove_shipped(path: Path, segment: Segment, torn_bytes: int) -> None:
    """Remove a completely shipped segment; quarantine a torn record at its end and record it.

    Its writer was killed while writing it, so that the request got no response; or the disk lost the rest.
    """
    if torn_bytes > 0:
        size = path.stat().st_size
        with transaction.atomic():
            _require_synchronous_commit()
            if positions.claim([segment])[segment] < size:
                quarantine_piece(path, size - torn_bytes, 0, read_from(path, size - torn_bytes, torn_bytes))
                _record_gap(segment.node, GapKind.TORN, 1)
                positions.move({segment: size})
    path.unlink()
