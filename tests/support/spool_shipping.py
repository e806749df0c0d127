"""Write records to a spool, ship them, and count them in the database."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from audit.counting.summaries import Summary
from audit.models import SpanCount
from audit.spool.records import AccessRecord
from audit.spool.writer import SpoolWriter
from audit.storage.ingest import ship


def spooled(folder: Path, records: list[AccessRecord], *, close: bool = True, **options: Any) -> SpoolWriter:
    """Write these records; return the writer, by default closed."""
    writer = SpoolWriter(folder, "node-1", **options)
    for record in records:
        writer.write(record)
    if close:
        writer.close()
    return writer


def shipped(folder: Path, records: Iterable[AccessRecord]) -> None:
    """Ship these records to the database through a spool."""
    spooled(folder, list(records))
    ship(folder)


def answers_counted() -> int:
    """Return the number of answers in the counts per minute."""
    minutes = SpanCount.objects.filter(kind="outcome", width=60)
    return sum(Summary.from_text(row.counts, 0).total for row in minutes)
