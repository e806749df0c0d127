"""The policy as of an earlier revision: all changes since are undone in a transaction that is rolled back.

Values that no revision records are the current ones: passwords, sessions and their ends, and the digests of tokens.

Cost: the revisions since are read before the policy lock is taken; at most 100,000 are undone. The last few policies
are cached in memory, and share the tables of equal segments.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from django.conf import settings
from django.db import IntegrityError

from gatewall.engine.messages import gettext_noop as _
from gatewall.engine.snapshot import PolicySnapshot, Version
from gatewall.engine.waf.patterns import PatternRefused
from gatewall.kernel.refusals import Gone
from gatewall.models import PolicyRevision
from gatewall.policy import revisions
from gatewall.publication.compiler import consistent_read, segment_bytes
from gatewall.snapshot.assembly import Assembly, SegmentData, SegmentRefused
from gatewall.whatif.as_of_changes import EverythingBefore, Unknown
from gatewall.whatif.as_of_rows import write_rows
from gatewall.whatif.hypothetical import effect_of
from policies.history.undo import CannotRestore

_ATTEMPTS = 5
_CACHE_SIZE = 4
_PATIENCE_SECONDS = 5.0
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class AsOf:
    """The policy as of a revision, and the time of that revision in seconds since the epoch.

    ``unknown``: imported lists whose entries at that revision are not recorded; the policy has the current entries.
    """

    policy: PolicySnapshot
    at: float
    unknown: tuple[Unknown, ...]


class _PolicyChanged(Exception):
    """The policy was changed between the reading of its revisions and the lock."""


class _Cache:
    """Cache of the last policies by revision, for one state of the database."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._state: object = None
        self.assembly = Assembly()
        self.policies: OrderedDict[int, AsOf] = OrderedDict()

    def follow(self, version: Version) -> None:
        """Clear the cache if the database was restored or reloaded, or a session was revoked."""
        state = version.epoch, version.reloads, version.revocations, settings.CONFIG.home
        if state != self._state:
            # Without the host's pattern cache: patterns for a few requests must not replace the patterns in force.
            self._state, self.assembly = state, Assembly()
            self.policies.clear()

    def keep(self, number: int, policy: AsOf) -> AsOf:
        if not policy.unknown:  # a policy with unknown lists depends on the current entries
            self.policies[number] = policy
        while len(self.policies) > _CACHE_SIZE:
            self.policies.popitem(last=False)
        return policy


_kept = _Cache()


def policy_as_of(number: int) -> AsOf:
    """Return the policy as of this revision. Raises Gone, CannotRestore.

    A process builds one such policy at a time, so that these requests do not occupy all of its threads.
    """
    if not _kept.lock.acquire(timeout=_PATIENCE_SECONDS):
        raise CannotRestore(_("another earlier policy is being built: try again in a minute"))
    try:
        return _policy_as_of(number)
    finally:
        _kept.lock.release()


def _policy_as_of(number: int) -> AsOf:
    row = revision_of(number)
    _kept.follow(revisions.current())
    if number in _kept.policies:
        _kept.policies.move_to_end(number)
        return _kept.policies[number]
    unknown, segments, version = _read(number)
    try:
        policy = _kept.assembly.build(version, segments)
    except (SegmentRefused, PatternRefused) as error:
        raise CannotRestore(
            _("the policy of revision %(number)s is no longer valid: %(why)s"), number=number, why=str(error)
        ) from None
    return _kept.keep(number, AsOf(policy, row.committed_at.timestamp(), unknown))


def revision_of(number: int) -> PolicyRevision:
    """Return the revision with this number. Raises Gone if it is not in the history."""
    row = PolicyRevision.objects.filter(pk=number).first()
    if row is None or number > revisions.current().revision:
        raise Gone(_("there is no such revision"))
    return row


@revisions.one_at_a_time
def _write(past: EverythingBefore, head: int) -> None:
    if revisions.current().revision != head:
        raise _PolicyChanged
    try:
        if segments := write_rows(past):
            revisions.advance(*segments, actor="as of", changes=[])
    except IntegrityError:
        raise CannotRestore(_("the rows of that time contradict each other: their record is incomplete")) from None


def with_rows_as_of(number: int, answer: Callable[[], Answer]) -> tuple[Answer, tuple[Unknown, ...]]:
    """Call a function in a transaction with the rows as of this revision, and roll back.

    Raises Gone, CannotRestore.
    """
    revision_of(number)
    for _attempt in range(_ATTEMPTS):
        head, past = _past(number)
        try:
            with revisions.rolled_back():
                _write(past, head)
                return answer(), tuple(past.unknown.values())
        except _PolicyChanged:
            continue
    raise CannotRestore(_("the policy keeps changing: try again in a minute"))


def _past(number: int) -> tuple[int, EverythingBefore]:
    with consistent_read() as moment:
        return moment.head.revision, EverythingBefore(moment.head.revision, number)


def _read(number: int) -> tuple[tuple[Unknown, ...], dict[str, SegmentData], Version]:
    """Return the unknown lists, the segments as of the revision (equal ones are the current ones), and its version."""
    for _attempt in range(_ATTEMPTS):
        head, past = _past(number)
        try:
            effect = effect_of(partial(_write, past, head))
        except _PolicyChanged:
            continue
        except ValueError as error:
            why = str(error)
            words = _("the policy of revision %(number)s is no longer valid: %(why)s")
            raise CannotRestore(words, number=number, why=why) from None
        with consistent_read() as moment:
            if moment.head.revision != head:
                continue
            segments = {
                name: SegmentData.of(effect.segments[name].read())
                if name in effect.segments
                else SegmentData.of(segment_bytes(moment, name))
                for name in effect.names
            }
        return tuple(past.unknown.values()), segments, Version(number, epoch=str(moment.head.epoch))
    raise CannotRestore(_("the policy keeps changing: try again in a minute"))
