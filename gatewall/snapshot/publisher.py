"""Compiles what has changed and publishes it as files for the data plane of this host."""

import uuid
from collections.abc import Mapping

from django.utils import timezone

from gatewall import revisions
from gatewall.snapshot.compiler import Moment, one_moment, segment_bytes
from gatewall.snapshot.confirmed import elapsed
from gatewall.snapshot.files import PolicyFiles
from gatewall.snapshot.lineage import refuse_going_back, refuse_newer_release, reusable
from gatewall.snapshot.manifest import Manifest, SegmentRef


def publish(files: PolicyFiles, *, over_newer_release: bool = True) -> Manifest:
    """Publish the committed policy, if it is not published already; return the manifest in force.

    It is confirmed then, as of when the database was asked. An agent that was put back to an older release publishes
    over the newer one's policy; who stands in for the agent, and may only be about to end, does not.

    Raises NewerRelease, DatabaseWentBack until ``confirm_new_epoch()``, ValueError if a row cannot be compiled,
    django.db.Error, OSError. Whatever is raised, the policy in force stays.
    """
    with files.publishing():
        before, asked_at = files.in_force(), elapsed()
        if not over_newer_release:
            refuse_newer_release(before)
        with one_moment() as moment:
            version = revisions.version_of(moment.head)
            refuse_going_back(before, moment.head)
            if before is not None and version == before.version and _is_whole(files, before):
                files.confirmations.confirm(asked_at)
                return before
            lineage = revisions.lineage_of(version)
            segments = _segments(files, moment, reusable(before, version))
        parent = moment.head.parent_epoch
        manifest = Manifest(version, str(parent) if parent else "", lineage, timezone.now().timestamp(), segments)
        files.publish(manifest)
        files.confirmations.confirm(asked_at)
        return manifest


def confirm_new_epoch(files: PolicyFiles) -> None:
    """Accept the policy of a restored database in place of the newer one that is in force here."""
    before = files.in_force()
    revisions.begin_epoch(after=uuid.UUID(before.version.epoch) if before else revisions.head().epoch)


def _is_whole(files: PolicyFiles, manifest: Manifest) -> bool:
    return manifest.is_of_this_release and all(map(files.has, manifest.segments.values()))


def _segments(files: PolicyFiles, moment: Moment, reusable: Mapping[str, SegmentRef]) -> dict[str, SegmentRef]:
    segments = {}
    for name, change in moment.segments.items():
        ref = reusable.get(name)
        if ref is None or ref.change != change or not files.has(ref):
            ref = files.write_segment(segment_bytes(moment, name), change)
        segments[name] = ref
    return segments
