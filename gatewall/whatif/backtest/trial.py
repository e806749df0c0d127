"""The policy of now, and the policy as a draft would leave it.

The draft is applied by the services themselves, in a transaction that is rolled back: what refuses a change
refuses its draft, and whatever else a change brings along (scopes that are cut, rules that go with a domain) is part
of the second policy. Nobody sees that transaction, and nothing is announced.
"""

from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction

from gatewall.engine.segments import source_of
from gatewall.engine.snapshot import PolicySnapshot, Segment, Version
from gatewall.kernel.clientip import Caller
from gatewall.models import PolicyRevision
from gatewall.policy import revisions
from gatewall.publication.compiler import Moment, one_moment, segment_bytes
from gatewall.replay.change_history import ChangeHistory
from gatewall.replay.comparison import with_rules
from gatewall.snapshot import codec
from gatewall.snapshot.assembly import Assembly, SegmentData
from gatewall.snapshot.files import PolicyFiles
from gatewall.whatif.backtest.drafts import Draft, apply

MAX_REVISIONS = 500
"""Of what was before as many changes of policy, everything counts as changed."""
_ATTEMPTS = 5


class PolicyMoves(Exception):
    """The policy was changed again and again while it was read."""


@dataclass(frozen=True, slots=True)
class Policies:
    """Both policies, each with what has changed of it since when."""

    before: PolicySnapshot
    after: PolicySnapshot
    histories: tuple[ChangeHistory, ChangeHistory]


@dataclass(frozen=True, slots=True)
class _Effect:
    """What the draft did: from which revision, the segments that it changed, and what its revision says of itself."""

    revision: int
    names: frozenset[str]
    segments: dict[str, SegmentData]
    said: tuple[int, Any, Any]


def try_out(draft: Draft, *, actor: str, caller: Caller | None) -> None:
    """Make the change and take it back. Raises what refuses it."""
    with transaction.atomic():
        apply(draft, actor=actor, caller=caller)
        transaction.set_rollback(True)


def policies_of(draft: Draft, files: PolicyFiles) -> Policies:
    """Return the policy of now, and with the draft. Raises what refuses the draft, PolicyMoves, SegmentRefused."""
    assembly = Assembly(files.patterns)
    for _ in range(_ATTEMPTS):
        effect = _effect_of(draft)
        with one_moment() as moment:
            version = revisions.version_of(moment.head)
            if version.revision != effect.revision:
                continue
            segments = _all_of(moment)
            before = assembly.build(version, segments)
            histories = recent_history(version.revision), recent_history(version.revision)
        return Policies(before, _both(assembly, before, segments, effect, histories[1]), histories)
    raise PolicyMoves("the policy is being changed all the time")


def _both(
    assembly: Assembly,
    before: PolicySnapshot,
    segments: dict[str, SegmentData],
    effect: _Effect,
    history: ChangeHistory,
) -> PolicySnapshot:
    """Return the second policy, and add the draft to what has changed: nothing else lies between the two.

    No request was recorded under the draft: what names its number was recorded under a change that somebody else made.
    """
    version = Version(effect.said[0], epoch=before.version.epoch)
    history.add(*effect.said)
    rules = effect.segments.pop(Segment.WAF_RULES, None)
    wanted = {name: data for name, data in (segments | effect.segments).items() if name in effect.names}
    after = assembly.build(version, wanted)
    if not any(name == Segment.ALLOWED_NETWORKS or source_of(name) is not None for name in effect.segments):
        after = replace(after, lists=before.lists)
    if rules is None:
        return after
    return with_rules(before, after, codec.decode(Segment.WAF_RULES, rules.read()))


def _effect_of(draft: Draft) -> _Effect:
    with transaction.atomic():
        # Forced, and by nobody who could be shut out: it was tried when it was asked for.
        before, at_first = _changes(), revisions.current().revision
        apply(_forced(draft), actor="backtest", caller=None)
        with one_moment() as moment:
            changed = {
                name: SegmentData(change, _held(segment_bytes(moment, name)))
                for name, change in moment.segments.items()
                if before.get(name) != change
            }
            names = frozenset(moment.segments)
        numbers = PolicyRevision.objects.filter(number__gt=at_first).order_by("number")
        said = [(each.number, each.changes, each.counts) for each in numbers]
        transaction.set_rollback(True)
    return _Effect(at_first, names, changed, _joined(at_first, said))


def _joined(at_first: int, said: list[tuple[int, Any, Any]]) -> tuple[int, Any, Any]:
    """Return what all revisions of a draft say, as one: the first domain also changes the settings."""
    if any(changes is None or counts is None for _, changes, counts in said):
        return at_first + 1, None, None
    return at_first + 1, [each for _, some, _ in said for each in some], [each for *_, some in said for each in some]


def _forced(draft: Draft) -> Draft:
    return Draft(draft.resource, draft.change, draft.id, draft.values, force=True)


def _changes() -> dict[str, str]:
    with one_moment() as moment:
        return dict(moment.segments)


def _all_of(moment: Moment) -> dict[str, SegmentData]:
    return {name: SegmentData(change, _reader(moment, name)) for name, change in moment.segments.items()}


def _reader(moment: Moment, name: str) -> Any:
    return lambda: segment_bytes(moment, name)


def _held(data: bytes) -> Any:
    return lambda: data


def recent_history(newest: int) -> ChangeHistory:
    """Return what has changed in the last revisions, as far back as they are all there."""
    rows = PolicyRevision.objects.filter(number__gt=newest - MAX_REVISIONS, number__lte=newest).order_by("-number")
    found: list[tuple[int, Any, Any]] = []
    for said in rows.values_list("number", "changes", "counts").iterator(chunk_size=20):
        if said[0] != newest - len(found):
            break
        found.append(said)
    history = ChangeHistory(known_from=newest - len(found), newest=newest)
    for said in reversed(found):
        history.add(*said)
    return history
