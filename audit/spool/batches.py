"""Read new records of a spool segment as batches of rows. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from audit.spool.amendments import Amendment, is_amendment
from audit.spool.frames import MAX_RECORD_BYTES, frames
from audit.spool.records import AccessRecord, RecordRefused
from audit.spool.rows import row_of
from audit.spool.segments import SEGMENT_BYTES, Segment, read_from


@dataclass(frozen=True, slots=True)
class Row:
    """A record, its columns, and its original bytes."""

    record: AccessRecord
    columns: tuple[Any, ...]
    data: bytes


@dataclass(slots=True)
class Batch:
    """Part of a segment's file: rows, amendments of rows, and bytes that are not records."""

    path: Path
    segment: Segment
    start: int
    end: int
    rows: list[Row] = field(default_factory=list)
    amendments: list[Amendment] = field(default_factory=list)
    bad: list[bytes] = field(default_factory=list)


def batches(path: Path, segment: Segment, start: int, size: int, limit: int) -> Iterator[Batch]:
    """Yield the records in ``path[start:size]``, in batches of about ``limit`` bytes. Raises OSError."""
    while start < size and (batch := _next_batch(path, segment, start, size, limit)).end > start:
        yield batch
        start = batch.end


def _next_batch(path: Path, segment: Segment, start: int, size: int, limit: int) -> Batch:
    """Return the next batch; read up to a maximum record, then the rest of the segment, to complete a record."""
    batch = Batch(path, segment, start, start)
    for amount in (limit, max(limit, 2 * MAX_RECORD_BYTES), SEGMENT_BYTES):
        batch = _batch(path, segment, start, read_from(path, start, amount))
        if batch.end > start or size - start < amount:
            break
    return batch


def _batch(path: Path, segment: Segment, start: int, data: bytes) -> Batch:
    batch = Batch(path, segment, start, start)
    for frame in frames(data, 0):
        begin, batch.end = batch.end, start + frame.end
        found = frame.record or b""  # empty for damaged bytes
        try:
            if is_amendment(found):
                batch.amendments.append(Amendment.from_bytes(found))
            else:
                record = AccessRecord.from_bytes(found)
                batch.rows.append(Row(record, row_of(record, segment.node), found))
        except RecordRefused:
            batch.bad.append(data[begin - start : frame.end])
    return batch
