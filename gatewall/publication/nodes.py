"""Report this host's published policy and workers to the database."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.utils import timezone

from gatewall.models import Node
from gatewall.snapshot.confirmed import elapsed
from gatewall.snapshot.files import PolicyFiles
from gatewall.snapshot.host_paths import node_name, policy_files
from gatewall.snapshot.manifest import ManifestRefused
from gatewall.snapshot.worker_report import living_workers, workers_folder

SILENT_FOR = timedelta(days=7)
"""Hosts silent for longer are deleted."""


@dataclass(frozen=True, slots=True)
class LogState:
    """Shipping state of this host's access log: records older than ``lag_seconds`` are shipped or quarantined.

    ``lag_seconds`` is None until the first full pass.
    """

    lag_seconds: float | None
    spooled_bytes: int


def database_now() -> datetime:
    """Return the database's current time: hosts' clocks differ. Raises django.db.Error."""
    if connection.vendor != "postgresql":  # SQLite: one host, one clock
        return timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now.astimezone(UTC)


def report_node(name: str, files: PolicyFiles, run: Path, problem: str = "", log: LogState | None = None) -> None:
    """Write this host's row; without ``log`` its last reported log state is kept. Raises django.db.Error."""
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
            "workers": [
                {
                    "pid": state.pid,
                    "revision": state.revision,
                    "rejected": state.rejected,
                    "reloads": state.reloads,
                    "heads": state.heads,
                }
                for state in living_workers(workers_folder(run))
            ],
            "problem": problem[:500],
            # If nothing was confirmed since boot, the age is at least the uptime.
            "unconfirmed_seconds": max(0.0, elapsed() - (confirmed_at or 0.0)),
            **({"log_lag_seconds": log.lag_seconds, "log_spooled_bytes": log.spooled_bytes} if log else {}),
        },
    )


def unconfirmed_seconds(node: Node, at: datetime) -> float:
    """Return how long ago a host's policy was last compared with the database; ``at`` is the database's time.

    For this host the confirmation file counts. For another host it is the agent's last report: while the agent is
    silent, comparisons by that host's control plane are unknown here.
    """
    reported = max(0.0, (at - node.seen_at).total_seconds()) + (node.unconfirmed_seconds or 0.0)
    confirmed_at = policy_files(settings.CONFIG).confirmations.last() if node.name == node_name()[:100] else None
    return reported if confirmed_at is None else min(reported, max(0.0, elapsed() - confirmed_at))


def forget(name: str) -> None:
    """Delete a host that is decommissioned. Raises django.db.Error."""
    Node.objects.filter(name=name[:100]).delete()


def prune(at: datetime) -> int:
    """Delete hosts that were silent for a week, and return how many; a later report adds a host again."""
    return Node.objects.filter(seen_at__lt=at - SILENT_FOR).delete()[0]
