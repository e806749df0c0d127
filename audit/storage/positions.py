"""Read positions of spool segments, stored in the transaction of the segments' rows.

Plain SQL, because each batch reads and writes positions, and Django takes longer to build these statements than the
database to run them.
"""

from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

from django.db import connection
from django.utils import timezone

from audit.spool.segments import Segment

_FIND = "SELECT id, position FROM audit_spoolsegment WHERE id IN ({places}) ORDER BY id"
_ADD = "INSERT INTO audit_spoolsegment (id, node, position, shipped_at) VALUES (%s, %s, %s, %s) ON CONFLICT (id) "
_BEGIN = f"{_ADD}DO NOTHING"
_MOVE = f"{_ADD}DO UPDATE SET node = excluded.node, position = excluded.position, shipped_at = excluded.shipped_at"


def find(segments: Collection[Segment], *, locked: bool = False) -> dict[Segment, int]:
    """Return the stored positions of segments; ``locked``: lock them until the end of the transaction."""
    by_key = {_key_of(segment.id): segment for segment in segments}
    statement = _FIND.format(places=", ".join(["%s"] * len(by_key)))
    if locked and connection.features.has_select_for_update:
        statement += " FOR UPDATE"
    with connection.cursor() as cursor:
        cursor.execute(statement, list(by_key))
        return {by_key[key]: position for key, position in cursor.fetchall()}


def claim(segments: Collection[Segment]) -> dict[Segment, int]:
    """Lock the read positions until the end of the transaction; return them."""
    ordered = sorted(segments, key=lambda segment: segment.id)  # in one order, to avoid deadlocks
    found = find(ordered, locked=True)
    if new := [segment for segment in ordered if segment not in found]:
        # There is no row to lock yet: a concurrent insert waits here.
        _write(_BEGIN, {segment: segment.first for segment in new})
        found = find(ordered, locked=True)
    return {segment: found[segment] for segment in ordered}


def move(positions: Mapping[Segment, int]) -> None:
    """Store the positions up to which segments are read."""
    _write(_MOVE, positions)


def _write(statement: str, positions: Mapping[Segment, int]) -> None:
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    rows = [(_key_of(segment.id), segment.node, position, now) for segment, position in positions.items()]
    with connection.cursor() as cursor:
        cursor.executemany(statement, rows)


def _key_of(id_: UUID) -> Any:
    """Return an id as the database stores and returns it."""
    return id_ if connection.vendor == "postgresql" else id_.hex
