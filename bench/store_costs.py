"""Store costs of rows and policy changes: a child of bench.units. ``python -m bench.store_costs SPOOL``.

CPU is that of this connection's PostgreSQL process, from /proc, in nanoseconds.
"""

import json
import shutil
import sys
import tempfile
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import django

django.setup()

from django.conf import settings  # noqa: E402 - needs Django
from django.db import connection  # noqa: E402 - needs Django

from audit.spool import segments  # noqa: E402 - needs Django
from audit.spool.frames import frames  # noqa: E402 - needs Django
from audit.spool.records import AccessRecord  # noqa: E402 - needs Django
from audit.spool.rows import row_of  # noqa: E402 - needs Django
from audit.storage import ingest  # noqa: E402 - needs Django
from gatewall.credentials.manifest_key import manifest_key  # noqa: E402 - needs Django
from gatewall.publication.publisher import publish  # noqa: E402 - needs Django
from gatewall.snapshot.files import PolicyFiles  # noqa: E402 - needs Django
from policies import services as policies  # noqa: E402 - needs Django

_CHANGES = 40
_SMALL_BATCH = 16 * 1024
_LOCK = "pg_advisory_xact_lock"


class Watched:
    """Times how long each batch holds the lock shared by all hosts, from its statement to the commit."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._rows = 0
        self.held: list[float] = []

    def __call__(self, execute: Any, sql: str, params: Any, many: Any, context: Any) -> Any:
        """Time a statement; a Django execute wrapper."""
        result = execute(sql, params, many, context)
        if _LOCK in str(sql):
            self._since = time.perf_counter()
        return result

    def on_stored(self, _: AccessRecord) -> None:
        """Record the end of the lock at the first committed record of a batch."""
        if self._since is not None:
            self.held.append(time.perf_counter() - self._since)
            self._since = None


def main(spool: Path) -> None:
    """Print the measurements as JSON."""
    connection.ensure_connection()
    half = [_part(spool, number) for number in range(2)]
    result = {
        "full": _shipped(half[0], ingest.BATCH_BYTES),
        "small": _shipped(half[1], _SMALL_BATCH),
        "column_bytes": _by_column(spool),
        "publish": _published(),
    }
    print(json.dumps(result))  # noqa: T201 - a command


def _part(spool: Path, number: int) -> Path:
    """Return a copy of every other file of the spool."""
    folder = Path(tempfile.mkdtemp(prefix="half-", dir=spool.parent))
    for path in segments.segment_files(spool)[number::2]:
        shutil.copy2(path, folder)
    return folder


def _shipped(spool: Path, batch_bytes: int) -> dict[str, float]:
    """Ship a folder in batches of this size; return rows, and milliseconds and bytes for them."""
    ingest.BATCH_BYTES = batch_bytes
    watched, began, wal, store = Watched(), time.perf_counter(), _wal(), _store_seconds()
    own = time.process_time()
    with connection.execute_wrapper(watched):
        rows = ingest.ship(spool, on_stored=watched.on_stored)
    return {
        "rows": rows,
        "batches": len(watched.held),
        "seconds": time.perf_counter() - began,
        "agent_us_a_row": (time.process_time() - own) / rows * 1e6,
        "store_us_a_row": (_store_seconds() - store) / rows * 1e6,
        "held_ms_a_batch": sum(watched.held) / len(watched.held) * 1e3,
        "wal_bytes_a_row": (_wal() - wal) / rows,
    }


def _by_column(spool: Path) -> int:
    """Return the bytes per row if the columns of 20,000 rows are compressed separately, as in a column store."""
    rows: list[Sequence[Any]] = []
    for path in segments.segment_files(spool):
        segment = segments.segment_of(path)
        if segment is None:
            continue
        data = segments.read_from(path, segment.first, path.stat().st_size)
        kept = (frame.record for frame in frames(data, 0) if frame.record)
        rows += [row_of(AccessRecord.from_bytes(record), segment.node) for record in kept]
    rows = sorted(rows[:20_000], key=lambda row: row[1])
    columns = [_stored([row[number] for row in rows]) for number in range(len(rows[0]))]
    return round(sum(len(zlib.compress(column, 6)) for column in columns) / len(rows))


def _stored(values: list[Any]) -> bytes:
    if hasattr(values[0], "bytes"):
        return b"".join(value.bytes for value in values)
    if hasattr(values[0], "timestamp"):
        moments = [int(value.timestamp() * 1e6) for value in values]
        steps = (later - earlier for earlier, later in zip([0, *moments], moments, strict=False))
        return b"".join(step.to_bytes(8, "little", signed=True) for step in steps)
    return "\n".join(str(value) for value in values).encode()


def _published() -> dict[str, float]:
    """Publish changes one by one, as on another host; return milliseconds for each."""
    with tempfile.TemporaryDirectory() as folder:
        files = PolicyFiles(Path(folder), manifest_key(settings.CONFIG.secret_key))
        publish(files)
        wall = own = store = 0.0
        for number in range(_CHANGES):
            policies.block_network(actor="bench", network=f"192.0.2.{number}")
            began, cpu, before = time.perf_counter(), time.process_time(), _store_seconds()
            publish(files)
            wall += time.perf_counter() - began
            own += time.process_time() - cpu
            store += _store_seconds() - before
    return {"ms": wall / _CHANGES * 1e3, "agent_ms": own / _CHANGES * 1e3, "store_ms": store / _CHANGES * 1e3}


def _store_seconds() -> float:
    info: Any = connection.connection.info
    path = Path(f"/proc/{info.backend_pid}/schedstat")
    return int(path.read_text().split()[0]) / 1e9


def _wal() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_wal_insert_lsn() - '0/0'")
        return int(cursor.fetchone()[0])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
