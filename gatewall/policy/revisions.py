"""The number of the policy. Whoever changes policy advances it in the same transaction.

Apps announce here which segments they changed and know nothing of snapshots. After the commit one
hook is called, once, and says whether the change is in force on this host; before it, in the
transaction of the change, one listener records the changes.
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
"""The epoch of an installation in which nothing was ever changed: reading makes no row."""
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
    """Make a service one transaction that holds the head of the policy from its first statement on.

    Every change ends at the head. One that took its rows first and the head last could wait for
    another that waits for those rows, and the database would have to kill one of them.
    """

    @wraps(service)
    def change(*args: P.args, **values: P.kwargs) -> R:
        with transaction.atomic():
            _hold()
            return service(*args, **values)

    return change


def as_it_is_now(row: Row) -> Row:
    """Return the row as the database has it, for a service that holds the head: nobody changes it any more.

    Re-read under the lock; the caller's copy may be stale. Raises Gone if the row was deleted since.
    """
    fresh: Row | None = type(row)._default_manager.filter(pk=row.pk).first()  # noqa: SLF001 - public by its documentation
    if fresh is None:
        raise Gone(_("it was deleted in the meantime"))
    return fresh


def call_after_commit(hook: Hook) -> None:
    """Have this called with the new version after each commit; it returns True once that is in force."""
    _hook[:] = [hook]


def call_in_transaction(listener: Listener) -> None:
    """Have this called with each revision and its diff, in its transaction."""
    _listeners[:] = [listener]


def advance(*segments: str, actor: str, changes: Iterable[Change | None]) -> None:
    """Move to the next policy revision, which changes these segments, and record who changed what.

    ``actor`` is the name of a user, or of what acts by itself (``seed``). A None among the changes is
    an object that turned out to be as it was.

    Raises TransactionManagementError outside a transaction.
    """
    _move(revision=F("revision") + 1)
    diff = diff_of(changes)
    revision = PolicyRevision.objects.create(
        number=_head().revision,
        actor=actor,
        changes=diff.changes,
        counts=diff.counts,
        resources="".join(f"{name} " for name in ["", *sorted({count["resource"] for count in diff.counts})]),
    )
    for listener in _listeners:
        listener(revision, diff)
    _mark(segments)


def advance_revocations() -> None:
    """Announce a revoked session, which is no change of policy. Raises as ``advance()`` does."""
    _move(revocations=F("revocations") + 1)
    PolicyRevocation.objects.create(number=_head().revocations)
    _mark([Segment.REVOCATIONS])


@transaction.atomic
def demand_reload() -> None:
    """Have every host compile all segments from the rows again, and every worker take what differs.

    The number is the time in milliseconds, or one more than the last where a clock is behind: a database that was
    restored and is reloaded twice must not give the same number to both.
    """
    _move(reloads=Greatest(F("reloads") + 1, Value(time.time_ns() // 1_000_000)))


@transaction.atomic
def begin_epoch(after: uuid.UUID) -> None:
    """Let the numbers begin a new history that follows this epoch, whatever they are now."""
    _hold()
    PolicyHead.objects.filter(pk=_ONLY).update(epoch=uuid.uuid4(), parent_epoch=after)


def current() -> Version:
    """Return the version in force, as this transaction sees it."""
    return version_of(_head())


def head() -> PolicyHead:
    """Return the head row, an unsaved one if nothing was ever changed."""
    return _head()


def version_of(row: PolicyHead) -> Version:
    """Return the version that a head row names."""
    return Version(row.revision, row.revocations, row.reloads, str(row.epoch))


def lineage_of(version: Version) -> str:
    """Return what tells this version from another of the same numbers; of numbers not reached yet, nothing is told."""
    counted = (
        PolicyRevision.objects.filter(pk=version.revision),
        PolicyRevocation.objects.filter(pk=version.revocations),
    )
    return " ".join(str(rows.values_list("lineage", flat=True).first() or "-") for rows in counted)


def publication_is_pending() -> bool:
    """True if the last change of this request was committed but is not in force on this host yet."""
    return _pending.get()


def expect_confirmation(deadline: datetime | None) -> None:
    """Note that the change of this request is taken back at this moment unless somebody confirms it; None: stays."""
    _confirm_by.set(deadline)


def confirm_by() -> datetime | None:
    """Return until when a change of this request is to be confirmed, None if it stays anyhow."""
    return _confirm_by.get()


def _hold() -> None:
    head = PolicyHead.objects.select_for_update().filter(pk=_ONLY)
    if not list(head):
        _make_head()
        list(head.all())


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
        return  # another part of the same change has done it: after a commit there is one version
    _unannounced.set(False)
    _pending.set(True)  # unless the hook says otherwise: it may fail
    _pending.set(not all(hook(current()) for hook in _hook))


def _head() -> PolicyHead:
    return PolicyHead.objects.filter(pk=_ONLY).first() or PolicyHead(pk=_ONLY, epoch=_BEFORE_ANY_CHANGE)


def _make_head() -> None:
    PolicyHead.objects.get_or_create(pk=_ONLY, defaults={"parent_epoch": _BEFORE_ANY_CHANGE})
