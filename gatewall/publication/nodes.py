"""Report what this host has published and its workers have loaded."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection
from django.utils import timezone

from gatewall.models import Node
from gatewall.snapshot.confirmed import elapsed
from gatewall.snapshot.files import PolicyFiles
from gatewall.snapshot.manifest import ManifestRefused
from gatewall.snapshot.places import node_name, policy_files
from gatewall.snapshot.worker_report import WorkerState, living_workers, workers_folder

SILENT_FOR = timedelta(days=7)
"""Then a host is gone: nobody wants to be told any more that it is behind."""


@dataclass(frozen=True, slots=True)
class LogState:
    """How far this host's access log is: what is older than ``lag_seconds`` is in the database, or set aside.

    None until the first full pass.
    """

    lag_seconds: float | None
    spooled_bytes: int


def database_now() -> datetime:
    """Return the moment by the clock of the database: those of hosts differ. Raises django.db.Error."""
    if connection.vendor != "postgresql":  # the database is a file, on the only host that there is
        return timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now.astimezone(UTC)


def report_node(name: str, files: PolicyFiles, run: Path, problem: str = "", log: LogState | None = None) -> None:
    """Write this host's row; what is not known of its log stays what was last said. Raises django.db.Error."""
    confirmed_at = files.confirmations.last()
    try:
        manifest = files.manifest()
    except (OSError, ManifestRefused) as error:
        manifest, problem = None, problem or str(error)
    Node.objects.update_or_create(
        name=name[:100],
        defaults={
            "seen_at": database_now(),
            "revision": manifest.version.revision if manifest else 0,
            "published_at": datetime.fromtimestamp(manifest.published_at, tz=UTC) if manifest else None,
            "workers": [_shown(state) for state in living_workers(workers_folder(run))],
            "problem": problem[:500],
            # Where nothing was confirmed since the machine was started, it is at least as long as that.
            "unconfirmed_seconds": max(0.0, elapsed() - (confirmed_at or 0.0)),
            **({"log_lag_seconds": log.lag_seconds, "log_spooled_bytes": log.spooled_bytes} if log else {}),
        },
    )


def _shown(state: WorkerState) -> dict[str, Any]:
    return {
        "pid": state.pid,
        "revision": state.revision,
        "rejected": state.rejected,
        "reloads": state.reloads,
    }


def unconfirmed_seconds(node: Node, at: datetime) -> float:
    """Return for how long the policy of a host was not compared with the database; ``at`` is now, by its clock.

    Of the own host the files say it, whoever has compared. Of another, its agent: while that is silent nobody has told
    of a comparison, though the control plane there may stand in for it.
    """
    said = max(0.0, (at - node.seen_at).total_seconds()) + (node.unconfirmed_seconds or 0.0)
    confirmed_at = policy_files(settings.CONFIG).confirmations.last() if node.name == node_name()[:100] else None
    return said if confirmed_at is None else min(said, max(0.0, elapsed() - confirmed_at))


def forget(name: str) -> None:
    """Delete a host that is going for good. Raises django.db.Error."""
    Node.objects.filter(name=name[:100]).delete()


def prune(at: datetime) -> int:
    """Delete hosts that were silent for a week; return how many. One that speaks again is there again."""
    return Node.objects.filter(seen_at__lt=at - SILENT_FOR).delete()[0]
