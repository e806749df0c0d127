"""Policy revisions: every change of policy advances the revision in the same transaction.

Apps declare the changed segments here, independent of snapshots. A listener records the changes in the transaction;
after the commit a hook publishes them and returns whether they are in force on this host.
"""

import time
import uuid
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from datetime import datetime
from functools import wraps
from typing import ParamSpec, TypeVar

from django.db import models, transaction
from django.db.models import F, Value
from django.db.models.functions import Greatest
from django.utils import timezone

from gatewall.engine.messages import gettext_noop as _
from gatewall.engine.snapshot import Segment, Version
from gatewall.kernel.changes import Change, Diff, diff_of
from gatewall.kernel.refusals import Gone
from gatewall.models import PolicyHead, PolicyRevision, PolicyRevocation, PolicySegment

_ONLY = 1
_BEFORE_ANY_CHANGE = uuid.UUID(int=0)
"""Epoch of an installation without changes, so that reading creates no row."""
Hook = Callable[[Version], bool]
Listener = Callable[[PolicyRevision, Diff], None]
_hook: list[Hook] = []
_listeners: list[Listener] = []
_pending: ContextVar[bool] = ContextVar("policy_pending", default=False)
_confirm_by: ContextVar[datetime | None] = ContextVar("policy_confirm_by", default=None)
_unannounced: ContextVar[bool] = ContextVar("policy_unannounced", default=False)
P = ParamSpec("P")
R = TypeVar("R")
Row = TypeVar("Row", bound=models.Model)


def one_at_a_time(service: Callable[P, R]) -> Callable[P, R]:
    """Run a service in a transaction that locks the policy head first.

    Every change ends at the head. Taking row locks first could deadlock with another change.
    """

    @wraps(service)
    def change(*args: P.args, **values: P.kwargs) -> R:
        with transaction.atomic():
            _hold()
            return service(*args, **values)

    return change


def as_it_is_now(row: Row) -> Row:
    """Return the current row, for a service that holds the policy lock. Raises Gone.

    Re-read under the lock; the caller's copy may be stale.
    """
    fresh: Row | None = type(row)._default_manager.filter(pk=row.pk).first()  # noqa: SLF001 - public by its documentation
    if fresh is None:
        raise Gone(_("it was deleted in the meantime"))
    return fresh


def call_after_commit(hook: Hook) -> None:
    """Register a hook to call with the new version after each commit; it returns whether that is in force."""
    _hook[:] = [hook]


def call_in_transaction(listener: Listener) -> None:
    """Register a listener to call with each revision and its changes, in its transaction."""
    _listeners[:] = [listener]


def advance(*segments: str, actor: str, changes: Iterable[Change | None]) -> None:
    """Advance the policy revision, which changes these segments, and record the changes.

    ``actor`` is a user name or an automatic actor (``seed``). A None among the changes is an unchanged object.

    Raises TransactionManagementError outside of a transaction.
    """
    _move(revision=F("revision") + 1)
    diff = diff_of(changes)
    revision = PolicyRevision.objects.create(
        number=head().revision,
        actor=actor,
        changes=diff.changes,
        counts=diff.counts,
        resources="".join(f"{name} " for name in ["", *sorted({count["resource"] for count in diff.counts})]),
    )
    for listener in _listeners:
        listener(revision, diff)
    _mark(segments)


def advance_revocations() -> None:
    """Publish a revoked session, without a new revision. Raises as ``advance()`` does."""
    _move(revocations=F("revocations") + 1)
    PolicyRevocation.objects.create(number=head().revocations)
    _mark([Segment.REVOCATIONS])


@transaction.atomic
def demand_reload() -> None:
    """Make every host recompile all segments, and every worker load the differences.

    The reload number is the time in milliseconds, or the last one plus one if the clock is behind, so that reloads
    before and after a database restore differ.
    """
    _move(reloads=Greatest(F("reloads") + 1, Value(time.time_ns() // 1_000_000)))


@transaction.atomic
def begin_epoch(after: uuid.UUID) -> None:
    """Start a new history of revisions that follows this epoch."""
    _hold()
    PolicyHead.objects.filter(pk=_ONLY).update(epoch=uuid.uuid4(), parent_epoch=after)


def current() -> Version:
    """Return the current version in this transaction."""
    return version_of(head())


def head() -> PolicyHead:
    """Return the head row, unsaved if there was no change yet."""
    return PolicyHead.objects.filter(pk=_ONLY).first() or PolicyHead(pk=_ONLY, epoch=_BEFORE_ANY_CHANGE)


def version_of(row: PolicyHead) -> Version:
    """Return the version of a head row."""
    return Version(row.revision, row.revocations, row.reloads, str(row.epoch))


def lineage_of(version: Version) -> str:
    """Return the lineage, which distinguishes versions with equal numbers, e.g. after a database restore."""
    counted = (
        PolicyRevision.objects.filter(pk=version.revision),
        PolicyRevocation.objects.filter(pk=version.revocations),
    )
    return " ".join(str(rows.values_list("lineage", flat=True).first() or "-") for rows in counted)


def publication_is_pending() -> bool:
    """Return whether this request's last change was committed but is not in force on this host yet."""
    return _pending.get()


def expect_confirmation(deadline: datetime | None) -> None:
    """Set when the change of this request is reverted unless confirmed; None: never."""
    _confirm_by.set(deadline)


def confirm_by() -> datetime | None:
    """Return the confirmation deadline of this request's change, or None."""
    return _confirm_by.get()


def _hold() -> None:
    locked = PolicyHead.objects.select_for_update().filter(pk=_ONLY)
    if not list(locked):
        _make_head()
        list(locked.all())


def _move(**change: object) -> None:
    if not transaction.get_connection().in_atomic_block:
        raise transaction.TransactionManagementError("policy changes and their revision belong in one transaction")
    change["advanced_at"] = timezone.now()
    _pending.set(False)
    _unannounced.set(True)
    if not PolicyHead.objects.filter(pk=_ONLY).update(**change):
        _make_head()
        PolicyHead.objects.filter(pk=_ONLY).update(**change)
    transaction.on_commit(_announce, robust=True)


def _mark(segments: Iterable[str]) -> None:
    rows = [PolicySegment(name=segment, change=uuid.uuid4()) for segment in dict.fromkeys(segments)]
    PolicySegment.objects.bulk_create(rows, update_conflicts=True, unique_fields=["name"], update_fields=["change"])


def _announce() -> None:
    if not _unannounced.get():
        return  # done by another part of the same change
    _unannounced.set(False)
    _pending.set(True)  # until the hook succeeds
    _pending.set(not all(hook(current()) for hook in _hook))


def _make_head() -> None:
    PolicyHead.objects.get_or_create(pk=_ONLY, defaults={"parent_epoch": _BEFORE_ANY_CHANGE})
