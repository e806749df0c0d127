"""Whether the database goes on from what is in force on this host, or was put back to an older state."""

from collections.abc import Mapping

from gatewall import revisions
from gatewall.engine.snapshot import Version
from gatewall.models import PolicyHead
from gatewall.snapshot.files import NotForward, PolicyFiles
from gatewall.snapshot.manifest import Manifest, ManifestRefused, SegmentRef


class DatabaseWentBack(NotForward):
    """The database holds an older policy than the one in force: it was restored from a backup."""


def in_force(files: PolicyFiles) -> Manifest | None:
    """Return the manifest in force here, None if there is none that can be trusted. Raises OSError."""
    try:
        return files.manifest()
    except ManifestRefused:
        return None  # damaged, or signed with a former key


def refuse_going_back(before: Manifest | None, head: PolicyHead) -> None:
    """Raise DatabaseWentBack unless this head is what is in force or follows it."""
    version = revisions.version_of(head)
    if before is None or _goes_on(before, version, str(head.parent_epoch)):
        return
    raise DatabaseWentBack(
        f"the database is at revision {version.revision} and does not follow revision "
        f"{before.version.revision}, which is in force; if it was restored on purpose, run: "
        "manage.py publish_policy --confirm-restored-database"
    )


def reusable(before: Manifest | None, version: Version) -> Mapping[str, SegmentRef]:
    """Return the published segments that this version may go on using where their change is its own."""
    if before is None or before.version.epoch != version.epoch or before.version.reloads != version.reloads:
        return {}
    return before.segments


def _goes_on(before: Manifest, version: Version, parent_epoch: str) -> bool:
    if before.version.epoch != version.epoch:
        return parent_epoch == before.version.epoch
    # The numbers may have passed the old ones since the restore; the lineage cannot.
    known = revisions.lineage_of(before.version) == before.lineage
    return known and (version == before.version or version.supersedes(before.version))
