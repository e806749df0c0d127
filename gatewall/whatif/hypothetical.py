"""Build the current policy, and the policy as it would be after a change, without making the change (a dry run).

The change runs in a transaction that is rolled back, so it is validated like the real one, and its side effects on
other rows are part of the second policy. Nothing is published, announced or recorded.

Cost: the policy lock (on SQLite, the write lock of the database) is held while the change is applied and the segments
it changed are read. Unchanged segments are read, and all tables and patterns are compiled, after it is released.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from gatewall.engine.messages import gettext_noop
from gatewall.engine.segments import source_of
from gatewall.engine.snapshot import PolicySnapshot, Segment, Version
from gatewall.models import PolicyRevision
from gatewall.policy import revisions
from gatewall.publication.compiler import compiled_segment, consistent_read, segment_bytes
from gatewall.replay.change_history import ChangeHistory
from gatewall.replay.comparison import with_rules
from gatewall.snapshot import codec
from gatewall.snapshot.assembly import Assembly, SegmentData
from gatewall.snapshot.files import PolicyFiles
from gatewall.whatif.change_histories import recent_history

_ATTEMPTS = 5


class PolicyMoves(Exception):
    """The policy kept changing while it was read."""


@dataclass(frozen=True, slots=True)
class Policies:
    """The policies without and with a change, each with its history of changes."""

    before: PolicySnapshot
    after: PolicySnapshot
    histories: tuple[ChangeHistory, ChangeHistory]


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of a change that was rolled back.

    ``revision``: the revision that it was applied to; ``names``: all segments afterwards, in order; ``segments``: the
    changed ones with their bytes. ``changes`` and ``counts``: those of all its revisions, None if not recorded.
    """

    revision: int
    names: tuple[str, ...]
    segments: dict[str, SegmentData]
    changes: list[dict[str, Any]] | None
    counts: list[dict[str, Any]] | None


def policies_with(change: Callable[[], object], files: PolicyFiles) -> Policies:
    """Return the policies without and with the change; it is forced, and has no caller whom it could lock out.

    Raises the errors of the change, PolicyMoves, SegmentRefused.
    """
    assembly = Assembly(files.patterns)
    for _ in range(_ATTEMPTS):
        effect = effect_of(change)
        with consistent_read() as moment:
            version = revisions.version_of(moment.head)
            if version.revision != effect.revision:
                continue
            segments = {
                name: SegmentData(change_id, partial(segment_bytes, moment, name))
                for name, change_id in moment.segments.items()
            }
            before = assembly.build(version, segments)
            histories = recent_history(version.revision), recent_history(version.revision)
        return Policies(before, _with_change(assembly, before, segments, effect, histories[1]), histories)
    raise PolicyMoves(gettext_noop("the policy keeps changing: try again in a minute"))


def effect_of(change: Callable[[], object]) -> Effect:
    """Apply the change, return its effect, and roll back. Raises the errors of the change, and ValueError."""
    with revisions.rolled_back():
        return _effect_now(change)


@revisions.one_at_a_time
def _effect_now(change: Callable[[], object]) -> Effect:
    base = revisions.current().revision
    with consistent_read() as moment:
        before = dict(moment.segments)
    change()
    with consistent_read() as moment:
        changed = {
            name: SegmentData(change_id, _constant(compiled_segment(name)))
            for name, change_id in moment.segments.items()
            if before.get(name) != change_id
        }
    made = PolicyRevision.objects.filter(number__gt=base).order_by("number")
    changes, counts = _merge(list(made.values_list("changes", "counts")))
    return Effect(base, tuple(moment.segments), changed, changes, counts)


def _with_change(
    assembly: Assembly,
    before: PolicySnapshot,
    segments: dict[str, SegmentData],
    effect: Effect,
    history: ChangeHistory,
) -> PolicySnapshot:
    """Return the policy with the change, and add the change to the history.

    No recorded request was decided under this policy: if a record has its revision number, that was another change.
    """
    version = Version(effect.revision + 1, epoch=before.version.epoch)
    history.add(version.revision, effect.changes, effect.counts)
    changed = dict(effect.segments)
    rules = changed.pop(Segment.WAF_RULES, None)
    segments_after = {name: (segments | changed)[name] for name in effect.names}
    after = assembly.build(version, segments_after)
    differing = [*changed, *(segments.keys() - effect.names)]  # without its last entry, a source has no segment
    if not any(name == Segment.ALLOWED_NETWORKS or source_of(name) is not None for name in differing):
        after = replace(after, lists=before.lists)
    if rules is None:
        return after
    return with_rules(before, after, codec.decode(Segment.WAF_RULES, rules.read()))


def _merge(records: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    """Return the changes and counts of several revisions as those of one."""
    if any(changes is None or counts is None for changes, counts in records):
        return None, None
    return [each for some, _ in records for each in some], [each for _, some in records for each in some]


def _constant(data: bytes) -> Callable[[], bytes]:
    return lambda: data
