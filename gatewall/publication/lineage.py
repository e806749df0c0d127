"""Detect a restored database: it does not continue the history that this host has published."""

from collections.abc import Mapping

from gatewall.engine.snapshot import Version
from gatewall.models import PolicyHead
from gatewall.policy import revisions
from gatewall.snapshot.files import NotForward
from gatewall.snapshot.manifest import Manifest, SegmentRef


class DatabaseWentBack(NotForward):
    """The database has an older policy than the one in force: it was restored from a backup."""


class NewerRelease(NotForward):
    """A newer release has published the policy in force; a stand-in for the agent does not replace it."""


def refuse_going_back(before: Manifest | None, head: PolicyHead) -> None:
    """Raise DatabaseWentBack unless the head equals the published version or follows it."""
    version = revisions.version_of(head)
    if before is None or _continues(before, version, str(head.parent_epoch)):
        return
    raise DatabaseWentBack(
        f"the database is at revision {version.revision} and does not follow revision "
        f"{before.version.revision}, which is in force; if it was restored on purpose, run: "
        "gatewall publish-policy --confirm-restored-database"
    )


def reusable(before: Manifest | None, version: Version) -> Mapping[str, SegmentRef]:
    """Return the published segments that this version may reuse where the change id is equal."""
    if before is None or before.version.epoch != version.epoch or before.version.reloads != version.reloads:
        return {}
    return before.segments


def _continues(before: Manifest, version: Version, parent_epoch: str) -> bool:
    if before.version.epoch != version.epoch:
        return parent_epoch == before.version.epoch
    # Since a restore, the numbers may have passed the published ones, but the lineage differs.
    known = revisions.lineage_of(before.version) == before.lineage
    return known and (version == before.version or version.supersedes(before.version))
