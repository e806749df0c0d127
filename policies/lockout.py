"""The lock-out guard: who changes policy should still be able to change it back."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from gatewall import revisions
from gatewall.clientip import Caller
from gatewall.engine.hosts import DomainTable
from gatewall.engine.lists import Standing
from gatewall.models import PendingConfirmation, PolicyRevision
from gatewall.refusals import Conflict
from policies import policy_source


class WouldLockYouOut(Conflict):
    """After the change, the caller's own address would be refused; by force it may be."""

    code = "would-lock-you-out"


@contextmanager
def kept_in(caller: Caller | None, *, force: bool) -> Iterator[None]:
    """Refuse what is done inside if the lists refuse the caller after it and did not before.

    By ``force`` it is done, and taken back after a while unless somebody confirms it (``confirmation.py``).
    For a service that holds the head and makes its revision inside. Nobody to keep in (None): a command, or a
    person at the machine.

    Raises WouldLockYouOut.
    """
    if caller is None:
        yield
        return
    was_refused, before = is_refused(caller), revisions.current().revision
    yield
    if was_refused or not is_refused(caller):
        return
    if not force:
        raise WouldLockYouOut(f"your own address {caller.address} would be refused; send force: true if you mean it")
    _await_confirmation(caller, before)


def _await_confirmation(caller: Caller, before: int) -> None:
    """Note that what was done since this revision is to be confirmed. One that is not known in full stays anyhow."""
    made = PolicyRevision.objects.filter(number__gt=before)
    if made.filter(changes__isnull=True).exists():
        return
    last, now = made.latest("number"), timezone.now()
    deadline = now + timedelta(seconds=settings.GATEWALL_CONFIRM_SECONDS)
    PendingConfirmation.objects.create(
        revision=last.number,
        previous=before,
        actor=last.actor,
        address=str(caller.address),
        made_at=now,
        deadline=deadline,
    )
    revisions.expect_confirmation(deadline)


def is_refused(caller: Caller) -> bool:
    """True if the lists, as they stand in this transaction, refuse the caller at the host he asked for.

    The engine's own code says so (step 2 of the decision).
    """
    return _standing(caller).blocked is not None


def is_allowed(caller: Caller) -> bool:
    """True if the allowlist speaks for the caller at the host he asked for: no imported entry can shut him out."""
    return _standing(caller).allowed is not None


def _standing(caller: Caller) -> Standing:
    domain = DomainTable(policy_source.domains()).match(caller.host)
    return policy_source.lists_about(caller.address).standing(
        caller.address,
        domain.name if domain else None,
        timezone.now().timestamp(),
        allowlist_applies=caller.allowlist_applies,
    )
