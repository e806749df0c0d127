"""Reports what this host has published and its workers have loaded."""

import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from django.utils import timezone

from gatewall.models import Node
from gatewall.snapshot.files import PolicyFiles
from gatewall.snapshot.manifest import ManifestRefused
from gatewall.snapshot.worker_report import living_workers

_WAIT_SECONDS = 1.0
_LOOK_SECONDS = 0.01


def wait_for_workers(run: Path, reloads: int) -> None:
    """Return when every worker of this host has read everything again, or after a second."""
    deadline = time.monotonic() + _WAIT_SECONDS
    while any(state.reloads < reloads and not state.rejected for state in living_workers(run / "workers")):
        if time.monotonic() >= deadline:
            return
        time.sleep(_LOOK_SECONDS)


def report_node(name: str, files: PolicyFiles, run: Path, problem: str = "") -> None:
    """Write this host's row. Raises django.db.Error."""
    try:
        manifest = files.manifest()
    except (OSError, ManifestRefused) as error:
        manifest, problem = None, problem or str(error)
    Node.objects.update_or_create(
        name=name[:100],
        defaults={
            "seen_at": timezone.now(),
            "revision": manifest.version.revision if manifest else 0,
            "published_at": datetime.fromtimestamp(manifest.published_at, tz=UTC) if manifest else None,
            "workers": [asdict(state) for state in living_workers(run / "workers")],
            "problem": problem[:500],
        },
    )
