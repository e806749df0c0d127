"""Compile changed segments and publish them as files for this host's data plane."""

import logging
import uuid
from collections.abc import Collection, Mapping

from django.utils import timezone

from gatewall.policy import revisions
from gatewall.publication.compiler import Moment, consistent_read, segment_bytes
from gatewall.publication.lineage import NewerRelease, refuse_going_back, reusable
from gatewall.snapshot.confirmed import elapsed
from gatewall.snapshot.files import PATIENCE_SECONDS, PolicyFiles
from gatewall.snapshot.manifest import Manifest, SegmentRef

logger = logging.getLogger(__name__)

_NAMED = 5
_MANIFEST = "the manifest, unless its key was changed"


def publish(
    files: PolicyFiles,
    *,
    over_newer_release: bool = True,
    verify: bool = False,
    patience: float = PATIENCE_SECONDS,
) -> Manifest:
    """Publish the committed policy unless it is published already, confirm it, and return the current manifest.

    ``over_newer_release``: an agent rolled back to an older release publishes over a newer one's policy; a stand-in
    for the agent does not. ``patience`` in seconds to wait for another publisher. Missing or truncated files are
    rewritten; with ``verify``, files with a wrong digest too.

    Raises NewerRelease, DatabaseWentBack until ``confirm_new_epoch()``, ValueError if a row cannot be compiled,
    django.db.Error, OSError. On any exception the published policy stays in force.
    """
    with files.publishing(patience):
        before, asked_at = files.in_force(), elapsed()
        if not over_newer_release and before is not None and before.is_of_a_newer_release:
            raise NewerRelease(
                f"a newer release has published (schema {before.schema}): start its agent, or this one's"
            )
        with consistent_read() as moment:
            version = revisions.version_of(moment.head)
            refuse_going_back(before, moment.head)
            damaged = _damaged(files, before, verify=verify)
            if before is not None and version == before.version and before.is_of_this_release and not damaged:
                files.confirmations.confirm(asked_at)
                return before
            lineage = revisions.lineage_of(version)
            known = {name: ref for name, ref in reusable(before, version).items() if name not in damaged}
            segments = _segments(files, moment, known)
        parent = moment.head.parent_epoch
        manifest = Manifest(version, str(parent) if parent else "", lineage, timezone.now().timestamp(), segments)
        files.publish(manifest)
        files.confirmations.confirm(asked_at)
        if damaged:
            _log_damaged(damaged)
        return manifest


def confirm_new_epoch(files: PolicyFiles) -> None:
    """Accept the policy of a restored database over the newer one published on this host."""
    before = files.in_force()
    revisions.begin_epoch(after=uuid.UUID(before.version.epoch) if before else revisions.head().epoch)


def _damaged(files: PolicyFiles, before: Manifest | None, *, verify: bool) -> Collection[str]:
    """Return the names of published segments that cannot be used."""
    if before is None:
        return [_MANIFEST] if files.stamp() is not None else []
    is_usable = files.is_intact if verify else files.has
    return [name for name, ref in before.segments.items() if not is_usable(ref)]


def _log_damaged(damaged: Collection[str]) -> None:
    more = len(damaged) - _NAMED
    logger.warning(
        "the published policy was damaged and is written again from the database: %d of its files (%s%s)",
        len(damaged),
        ", ".join(sorted(damaged)[:_NAMED]),
        f" and {more} more" if more > 0 else "",
    )


def _segments(files: PolicyFiles, moment: Moment, reusable: Mapping[str, SegmentRef]) -> dict[str, SegmentRef]:
    segments = {}
    for name, change in moment.segments.items():
        ref = reusable.get(name)
        if ref is None or ref.change != change:
            ref = files.write_segment(segment_bytes(moment, name), change)
        segments[name] = ref
    return segments
