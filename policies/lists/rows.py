"""Bulk reads and writes of the blocklist rows of one source, in chunks. For imports."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from django.db import connection
from django.utils import timezone

from policies.list_files.diff import Entry, Row
from policies.models import BlocklistEntry

_BATCH = 500


def entries_of(source: str, networks: Iterable[str]) -> Iterator[BlocklistEntry]:
    """Yield the entries of a source that have one of these networks."""
    left = iter(networks)
    while batch := list(islice(left, _BATCH)):
        yield from BlocklistEntry.objects.filter(source=source, network__in=batch)


def rows_of(source: str) -> Iterator[Row]:
    """Yield the rows of a source."""
    rows = BlocklistEntry.objects.filter(source=source).values_list("id", "network", "expires_at", "remark")
    for id_, network, expires_at, remark in rows.iterator():
        yield id_, network, None if expires_at is None else int(expires_at.timestamp()), remark


def delete(ids: Iterator[int]) -> None:
    """Delete these rows."""
    while batch := list(islice(ids, _BATCH)):
        BlocklistEntry.objects.filter(pk__in=batch).delete()


def change(changed: Iterator[Row]) -> None:
    """Update expiry and remark of these rows."""
    while batch := list(islice(changed, _BATCH)):
        entries = [
            BlocklistEntry(pk=id_, expires_at=_moment(expires_at), remark=remark)
            for id_, _, expires_at, remark in batch
        ]
        BlocklistEntry.objects.bulk_update(entries, ["expires_at", "remark"])


def insert(source: str, actor: str, entries: Iterable[Entry]) -> None:
    """Insert rows with plain SQL, five times faster than ``bulk_create``: all other writers wait meanwhile."""
    names = ("created_at", "created_by", "network", "remark", "expires_at", "source")
    fields: list[Any] = [BlocklistEntry._meta.get_field(name) for name in names]  # noqa: SLF001 - documented API
    quote = connection.ops.quote_name
    columns = ", ".join(quote(each.column) for each in fields)
    table = quote(BlocklistEntry._meta.db_table)  # noqa: SLF001 - documented API
    now = timezone.now()
    values = (
        [
            each.get_db_prep_save(value, connection)
            for each, value in zip(fields, (now, actor, network, remark, _moment(expires_at), source), strict=True)
        ]
        for network, expires_at, remark in entries
    )
    with connection.cursor() as cursor:
        sql = f"INSERT INTO {table} ({columns}) VALUES ({', '.join(['%s'] * len(names))})"  # noqa: S608 - our own names
        cursor.executemany(sql, values)  # type: ignore[arg-type]  # drivers take any iterable; a list would be too large


def _moment(seconds: int | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, tz=UTC)
