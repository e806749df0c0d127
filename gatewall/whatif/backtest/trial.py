"""Build the current policy, and the policy with a draft applied.

The services apply the draft in a transaction that is rolled back, so the draft is validated like the change itself, and
side effects of the change (scopes, rules of a domain) are part of the second policy. Nothing is published.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from gatewall.engine.messages import gettext_noop
from gatewall.engine.segments import source_of
from gatewall.engine.snapshot import PolicySnapshot, Segment, Version
from gatewall.kernel.clientip import Caller
from gatewall.models import PolicyRevision
from gatewall.policy import revisions
from gatewall.publication.compiler import consistent_read, segment_bytes
from gatewall.replay.change_history import ChangeHistory
from gatewall.replay.comparison import with_rules
from gatewall.snapshot import codec
from gatewall.snapshot.assembly import Assembly, SegmentData
from gatewall.snapshot.files import PolicyFiles
from gatewall.whatif.backtest.drafts import Draft, apply
from gatewall.whatif.replay_record import recent_history

_ATTEMPTS = 5


class PolicyMoves(Exception):
    """The policy kept changing while it was read."""


@dataclass(frozen=True, slots=True)
class Policies:
    """The policies without and with the draft, each with its history of changes."""

    before: PolicySnapshot
    after: PolicySnapshot
    histories: tuple[ChangeHistory, ChangeHistory]


@dataclass(frozen=True, slots=True)
class _Effect:
    """The effect of a draft: base revision, segment names, changed segments, and the merged revision."""

    revision: int
    names: frozenset[str]
    segments: dict[str, SegmentData]
    revision_record: tuple[int, Any, Any]


def try_out(draft: Draft, *, actor: str, caller: Caller | None) -> None:
    """Apply the draft and roll back. Raises the errors of the change."""
    with revisions.rolled_back():
        apply(draft, actor=actor, caller=caller)


def policies_of(draft: Draft, files: PolicyFiles) -> Policies:
    """Return the policies without and with the draft. Raises the draft's errors, PolicyMoves, SegmentRefused."""
    assembly = Assembly(files.patterns)
    for _ in range(_ATTEMPTS):
        effect = _effect_of(draft)
        with consistent_read() as moment:
            version = revisions.version_of(moment.head)
            if version.revision != effect.revision:
                continue
            segments = {
                name: SegmentData(change, partial(segment_bytes, moment, name))
                for name, change in moment.segments.items()
            }
            before = assembly.build(version, segments)
            histories = recent_history(version.revision), recent_history(version.revision)
        return Policies(before, _with_draft(assembly, before, segments, effect, histories[1]), histories)
    raise PolicyMoves(gettext_noop("the policy is being changed all the time"))


def _with_draft(
    assembly: Assembly,
    before: PolicySnapshot,
    segments: dict[str, SegmentData],
    effect: _Effect,
    history: ChangeHistory,
) -> PolicySnapshot:
    """Return the policy with the draft, and add the draft to the history.

    No recorded request used the draft: its revision number was used by another change, if at all.
    """
    version = Version(effect.revision_record[0], epoch=before.version.epoch)
    history.add(*effect.revision_record)
    rules = effect.segments.pop(Segment.WAF_RULES, None)
    segments_after = {name: data for name, data in (segments | effect.segments).items() if name in effect.names}
    after = assembly.build(version, segments_after)
    if not any(name == Segment.ALLOWED_NETWORKS or source_of(name) is not None for name in effect.segments):
        after = replace(after, lists=before.lists)
    if rules is None:
        return after
    return with_rules(before, after, codec.decode(Segment.WAF_RULES, rules.read()))


def _effect_of(draft: Draft) -> _Effect:
    with revisions.rolled_back():
        # Forced and without a caller: the draft was validated when it was queued.
        base = revisions.current().revision
        with consistent_read() as moment:
            before = dict(moment.segments)
        apply(replace(draft, force=True), actor="backtest", caller=None)
        with consistent_read() as moment:
            changed = {
                name: SegmentData(change, _constant(segment_bytes(moment, name)))
                for name, change in moment.segments.items()
                if before.get(name) != change
            }
            names = frozenset(moment.segments)
        numbers = PolicyRevision.objects.filter(number__gt=base).order_by("number")
        records = [(each.number, each.changes, each.counts) for each in numbers]
    return _Effect(base, names, changed, _merge(base, records))


def _merge(base: int, records: list[tuple[int, Any, Any]]) -> tuple[int, Any, Any]:
    """Return the revisions of a draft merged into one: the first domain also changes the settings."""
    if any(changes is None or counts is None for _, changes, counts in records):
        return base + 1, None, None
    return base + 1, [each for _, some, _ in records for each in some], [each for *_, some in records for each in some]


def _constant(data: bytes) -> Any:
    return lambda: data
