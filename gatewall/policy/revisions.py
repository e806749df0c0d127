"""Policy revisions: every change of policy advances the revision in the same transaction.

Apps declare the changed segments here, independent of snapshots. A listener records the changes in the transaction;
after the commit a hook publishes them and returns whether they are in force on this host.
"""

import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from django.db import connection, models, transaction
from django.db.models import F, Value
from django.db.models.functions import Greatest
from django.utils import timezone

from gatewall.database.prepared import Prepared
from gatewall.engine.messages import gettext_noop as _
from gatewall.engine.snapshot import Segment, Version
from gatewall.kernel.changes import Change, Diff, diff_of, merged
from gatewall.kernel.refusals import Gone
from gatewall.kernel.renamed_domains import with_settled_names
from gatewall.models import PolicyHead, PolicyRevision, PolicyRevocation, PolicySegment

_ONLY_ROW = 1
_HEAD = Prepared(lambda: PolicyHead.objects.filter(pk=_ONLY_ROW))  # read for each decision of the control plane
_LOCKED = Prepared(lambda: PolicyHead.objects.select_for_update().filter(pk=_ONLY_ROW))
_BEFORE_ANY_CHANGE = uuid.UUID(int=0)
"""Epoch of an installation without changes, so that reading creates no row."""
_LINEAGES = (
    "SELECT (SELECT lineage FROM gatewall_policyrevision WHERE number = %s), "
    "(SELECT lineage FROM gatewall_policyrevocation WHERE number = %s)"
)
Hook = Callable[[Version], bool]
Listener = Callable[[PolicyRevision, Diff], None]
_hook: list[Hook] = []
_listeners: list[Listener] = []
_pending: ContextVar[bool] = ContextVar("policy_pending", default=False)
_confirm_by: ContextVar[datetime | None] = ContextVar("policy_confirm_by", default=None)
_unannounced: ContextVar[bool] = ContextVar("policy_unannounced", default=False)
_gathering: ContextVar["OneRevision | None"] = ContextVar("policy_gathering", default=None)
P = ParamSpec("P")
R = TypeVar("R")
Row = TypeVar("Row", bound=models.Model)


def one_at_a_time(service: Callable[P, R]) -> Callable[P, R]:
    """Run a service in a transaction that locks the policy head first.

    Every change ends at the head. Taking row locks first could deadlock with another change.
    """

    @wraps(service)
    def change(*args: P.args, **values: P.kwargs) -> R:
        with transaction.atomic(), _discarded_on_error():
            _hold()
            return service(*args, **values)

    return change


@dataclass(slots=True)
class OneRevision:
    """Changes of services that become one revision; ``revision`` is set at the end of the block, None: no change."""

    actor: str
    changes: list[Change] = field(default_factory=list)
    segments: list[str] = field(default_factory=list)
    then: list[Callable[[], object]] = field(default_factory=list)
    revision: PolicyRevision | None = None


@contextmanager
def as_one_revision(actor: str) -> Iterator[OneRevision]:
    """Gather the changes of all services in the block in one revision of this actor, in one transaction.

    Changes of one object are merged; if none is left, there is no revision. The number of the revision is not known
    before the end of the block. A nested block joins the outer one. An exception rolls everything back.
    """
    if (outer := _gathering.get()) is not None:
        with transaction.atomic(), _discarded_on_error():
            yield outer
        return
    gathered = OneRevision(actor)
    with transaction.atomic():
        _hold()
        token = _gathering.set(gathered)
        try:
            yield gathered
        finally:
            _gathering.reset(token)
        if changes := merged(with_settled_names(gathered.changes)):
            gathered.revision = advance(*gathered.segments, actor=actor, changes=changes)
        for call in gathered.then:
            call()


def once_written(call: Callable[[], object]) -> None:
    """Call this when the revision of the changes so far is written: now, or at the end of ``as_one_revision()``."""
    gathered = _gathering.get()
    if gathered is None:
        call()
    else:
        gathered.then.append(call)


@contextmanager
def rolled_back() -> Iterator[None]:
    """Run the block in a transaction that is rolled back: a trial of changes, also inside ``as_one_revision()``.

    Services in the block create their own revisions. These leave no row, no event, no call after the commit and, for
    the caller, no pending publication or confirmation.
    """
    token, deadline = _gathering.set(None), _confirm_by.get()
    is_pending, is_unannounced = _pending.get(), _unannounced.get()
    try:
        with transaction.atomic():
            yield
            transaction.set_rollback(True)
    finally:
        _gathering.reset(token)
        _confirm_by.set(deadline)
        _pending.set(is_pending)
        _unannounced.set(is_unannounced)


@contextmanager
def _discarded_on_error() -> Iterator[None]:
    """Forget the changes that a service gathered before it raised an error, as its transaction does."""
    gathered = _gathering.get()
    if gathered is None:
        yield
        return
    parts: list[list[Any]] = [gathered.changes, gathered.segments, gathered.then]
    lengths = [len(part) for part in parts]
    try:
        yield
    except BaseException:
        for part, length in zip(parts, lengths, strict=True):
            del part[length:]
        raise


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


def advance(*segments: str, actor: str, changes: Iterable[Change | None]) -> PolicyRevision | None:
    """Advance the policy revision, which changes these segments, and record the changes; return the revision.

    ``actor`` is a user name or an automatic actor (``seed``). A None among the changes is an unchanged object.
    Inside ``as_one_revision()``, the changes are gathered for its revision, and None is returned.

    Raises TransactionManagementError outside of a transaction.
    """
    if (gathered := _gathering.get()) is not None:
        gathered.changes += filter(None, changes)
        gathered.segments += segments
        return None
    _update_head(revision=F("revision") + 1)
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
    _mark_segments(segments)
    return revision


def advance_revocations() -> None:
    """Publish a revoked session, without a new revision. Raises as ``advance()`` does."""
    _update_head(revocations=F("revocations") + 1)
    PolicyRevocation.objects.create(number=head().revocations)
    _mark_segments([Segment.REVOCATIONS])


@transaction.atomic
def demand_reload() -> None:
    """Make every host recompile all segments, and every worker load the differences.

    The reload number is the time in milliseconds, or the last one plus one if the clock is behind, so that reloads
    before and after a database restore differ.
    """
    _update_head(reloads=Greatest(F("reloads") + 1, Value(time.time_ns() // 1_000_000)))


@transaction.atomic
def begin_epoch(after: uuid.UUID) -> None:
    """Start a new history of revisions that follows this epoch."""
    _hold()
    PolicyHead.objects.filter(pk=_ONLY_ROW).update(epoch=uuid.uuid4(), parent_epoch=after)


def current() -> Version:
    """Return the current version in this transaction."""
    return version_of(head())


def head() -> PolicyHead:
    """Return the head row, unsaved if there was no change yet."""
    return _HEAD.first() or PolicyHead(pk=_ONLY_ROW, epoch=_BEFORE_ANY_CHANGE)


def version_of(row: PolicyHead) -> Version:
    """Return the version of a head row."""
    return Version(row.revision, row.revocations, row.reloads, str(row.epoch))


def lineage_of(version: Version) -> str:
    """Return the lineage, which distinguishes versions with equal numbers, e.g. after a database restore."""
    with connection.cursor() as cursor:  # twice in each publication: Django takes longer to write the statements
        cursor.execute(_LINEAGES, [version.revision, version.revocations])
        return " ".join(str(uuid.UUID(str(found))) if found else "-" for found in cursor.fetchone())


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
    if _LOCKED.first() is None:
        _make_head()
        _LOCKED.first()


def _update_head(**change: object) -> None:
    if not transaction.get_connection().in_atomic_block:
        raise transaction.TransactionManagementError("policy changes and their revision belong in one transaction")
    change["advanced_at"] = timezone.now()
    _pending.set(False)
    _unannounced.set(True)
    if not PolicyHead.objects.filter(pk=_ONLY_ROW).update(**change):
        _make_head()
        PolicyHead.objects.filter(pk=_ONLY_ROW).update(**change)
    transaction.on_commit(_announce, robust=True)


def _mark_segments(segments: Iterable[str]) -> None:
    rows = [PolicySegment(name=segment, change=uuid.uuid4()) for segment in dict.fromkeys(segments)]
    PolicySegment.objects.bulk_create(rows, update_conflicts=True, unique_fields=["name"], update_fields=["change"])


def _announce() -> None:
    if not _unannounced.get():
        return  # done by another part of the same change
    _unannounced.set(False)
    _pending.set(True)  # until the hook succeeds
    _pending.set(not all(hook(current()) for hook in _hook))


def _make_head() -> None:
    PolicyHead.objects.get_or_create(pk=_ONLY_ROW, defaults={"parent_epoch": _BEFORE_ANY_CHANGE})
