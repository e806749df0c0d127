"""Watch a change of policy, and revert it automatically if it refuses too many people who were let in before.

A person counts if they were let in to a host in the seven days before the change, and a request of theirs to that host
was refused since. The policy right after the change must refuse this request, and the policy right before it must not.
A refusal before the credential was checked (a blocked network) counts for the people who used the same program at the
same address.
"""

from datetime import datetime, timedelta
from functools import partial

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.utils import timezone

from audit.event_kinds import EventKind
from audit.events.recording import Event, record_event
from gatewall.api.translation import message_of
from gatewall.engine.messages import MAX_STORED
from gatewall.kernel.refusals import Refusal
from gatewall.models import PendingConfirmation, PolicyRevision, RefusalWatch
from gatewall.policy import revisions
from gatewall.whatif.newly_refused import NewlyRefused
from policies.history import confirmation
from policies.history.rollback import take_back

_LATE = timedelta(seconds=30)
"""How long after its end a watch waits for records that are still being shipped."""
_AGAIN_AFTER = timedelta(minutes=1)


def start(before: int, *, people: int, minutes: int) -> None:
    """Revert the revisions after ``before`` if they refuse more than ``people`` people within ``minutes`` minutes.

    The caller must hold the policy lock. Inside ``as_one_revision()``, the watch begins when the revision is written;
    without a revision there is nothing to watch. Raises TooLargeToRevert.
    """
    revisions.once_written(partial(_start, before, people, minutes))


def _start(before: int, people: int, minutes: int) -> None:
    confirmation.refuse_irrevertible(before)
    last, now = PolicyRevision.objects.filter(number__gt=before).order_by("number").last(), timezone.now()
    if last is None:
        return
    RefusalWatch.objects.create(
        revision=last.number,
        previous=before,
        actor=last.actor,
        people=people,
        made_at=now,
        until=now + timedelta(minutes=minutes),
    )


def open_watches() -> QuerySet[RefusalWatch]:
    """Return the watches that have not ended, the oldest first."""
    return RefusalWatch.objects.filter(outcome="").order_by("revision")


class RefusalWatcher:
    """Checks all open watches; caches the people and refusals that it has read from the log."""

    def __init__(self) -> None:
        self._found: dict[int, NewlyRefused] = {}
        self._tried: dict[int, datetime] = {}

    def check(self, at: datetime) -> int:
        """Check every open watch at this moment; return how many changes were reverted. Raises django.db.Error."""
        watches = list(open_watches())
        numbers = {watch.revision for watch in watches}
        self._found = {number: found for number, found in self._found.items() if number in numbers}
        return sum(self._check(watch, at) for watch in watches if self._is_due(watch, at))

    def _is_due(self, watch: RefusalWatch, at: datetime) -> bool:
        tried = self._tried.get(watch.revision)
        return tried is None or not timedelta(0) <= at - tried < _AGAIN_AFTER

    def _check(self, watch: RefusalWatch, at: datetime) -> bool:
        try:
            return self._judge(watch, at)
        except (Refusal, ValidationError) as refusal:  # the other changes must still be watched
            self._tried[watch.revision] = at
            RefusalWatch.objects.filter(pk=watch.pk).update(problem=str(message_of(refusal))[:MAX_STORED])
            return False

    def _judge(self, watch: RefusalWatch, at: datetime) -> bool:
        found = self._found.get(watch.revision)
        if found is None:
            found = self._found[watch.revision] = NewlyRefused(watch, settings.CONFIG)
        is_over = at >= watch.until + _LATE
        people = found.read(whole=is_over)
        if people != watch.refused:
            RefusalWatch.objects.filter(pk=watch.pk).update(refused=people)
        if len(people) > watch.people:
            return _revert(watch.revision, people)
        if is_over:
            _settle(watch, RefusalWatch.KEPT)
        return False


@revisions.one_at_a_time
def _revert(number: int, people: list[dict[str, object]]) -> bool:
    """Revert the watched change, in one transaction with its event. Raises CannotRestore."""
    watch = open_watches().select_for_update().filter(pk=number).first()
    if watch is None:
        return False  # another agent settled it first
    take_back(watch.previous, number, actor=f"system: {number} refused too many people")
    _settle(watch, RefusalWatch.REVERTED)
    waiting = confirmation.pending().filter(pk=number)
    waiting.update(outcome=PendingConfirmation.REVERTED, settled_at=timezone.now(), settled_by=f"system: {number}")
    detail = {"revision": number, "people": people[:20], "number": len(people), "limit": watch.people}
    record_event(Event(EventKind.POLICY_REVERTED, detail=detail))
    return True


def _settle(watch: RefusalWatch, outcome: str) -> None:
    RefusalWatch.objects.filter(pk=watch.pk).update(outcome=outcome, settled_at=timezone.now(), problem="")
