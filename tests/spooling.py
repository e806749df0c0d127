"""Puts records into a spool and counts what was counted of them in the database."""

from pathlib import Path

import pytest

from audit.models import SpanCount
from audit.records import AccessRecord
from audit.spool import SpoolWriter
from audit.summaries import Summary
from tests.cast import NOW
from tests.records import a_record


def spooled(folder: Path, records: list[AccessRecord], *, close: bool = True, **options: int) -> SpoolWriter:
    """A writer that has written these records, and has let go of its file unless it is to be kept open."""
    writer = SpoolWriter(folder, "node-1", **options)
    for record in records:
        writer.write(record)
    if close:
        writer.close()
    return writer


def losing(writer: SpoolWriter, count: int, at: float = NOW) -> None:
    """Have a writer lose so many records, as on a full disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "_append", lambda _frame: (_ for _ in ()).throw(OSError("disk full")))
        for number in range(count):
            writer.write(a_record(100 + number, at=at))


def answers_counted() -> int:
    """How many answers the counts per minute know."""
    minutes = SpanCount.objects.filter(kind="outcome", width=60)
    return sum(Summary.from_text(row.counts, 0).total for row in minutes)
