"""Read new records of a spool segment as batches of rows. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from audit.spool.frames import MAX_RECORD_BYTES, frames
from audit.spool.records import AccessRecord, RecordRefused
from audit.spool.rows import row_of
from audit.spool.segments import SEGMENT_BYTES, Segment, read_from


@dataclass(frozen=True, slots=True)
class Row:
    """A record, its columns, and its bytes as they were spooled."""

    record: AccessRecord
    columns: tuple[Any, ...]
    data: bytes


@dataclass(slots=True)
class Batch:
    """The pieces of a segment's file from one position to another: what can be rows, and what cannot."""

    path: Path
    segment: Segment
    start: int
    end: int
    rows: list[Row] = field(default_factory=list)
    bad: list[bytes] = field(default_factory=list)


def batches(path: Path, segment: Segment, start: int, size: int, limit: int) -> Iterator[Batch]:
    """Yield what the first ``size`` bytes of a file hold from a position on, about ``limit`` bytes at once. OSError."""
    while start < size and (batch := _next_batch(path, segment, start, size, limit)).end > start:
        yield batch
        start = batch.end


def _next_batch(path: Path, segment: Segment, start: int, size: int, limit: int) -> Batch:
    """Return the next batch; where there is no whole record, read as much as a record can be, then the segment."""
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
        try:
            record = AccessRecord.from_bytes(frame.record or b"")  # damaged: bytes that are none
            batch.rows.append(Row(record, row_of(record, segment.node), frame.record or b""))
        except RecordRefused:
            batch.bad.append(data[begin - start : frame.end])
    return batch
