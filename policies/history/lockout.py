"""Lockout guard: warn operators before a change of policy locks them out."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from gatewall.engine.addresses import parse_network
from gatewall.engine.hosts import DomainTable
from gatewall.engine.lists import Standing
from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.clientip import Caller
from gatewall.kernel.refusals import Conflict
from gatewall.models import PendingConfirmation, PolicyRevision
from gatewall.policy import revisions
from policies import policy_source
from policies.history.rollback import take_back

_AT_ONCE = 100
_LOOPBACK = (IPv4Network("127.0.0.0/8"), IPv6Network("::1/128"))


class WouldLockYouOut(Conflict):
    """After the change, the caller's own address would be refused; by force it may be."""

    code = "would-lock-you-out"


@contextmanager
def kept_in(caller: Caller | None, *, force: bool) -> Iterator[None]:
    """Refuse what is done inside if the lists refuse the caller after it and did not before.

    By ``force`` it is done, and taken back after a while unless somebody confirms it (``confirmation.py``). Whom only
    such a change refuses counts as let in: a second one would keep them out when the first is taken back.

    For a service that holds the head and makes its revision inside. Nobody to keep in (None): a command, or a
    person at the machine.

    Raises WouldLockYouOut.
    """
    if caller is None:
        yield
        return
    was_refused, before = stays_refused(caller), revisions.current().revision
    yield
    if was_refused or not stays_refused(caller):
        return
    if not force:
        raise WouldLockYouOut(
            _("your own address %(address)s would be refused; send force: true if you mean it"), address=caller.address
        )
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


def ask_before_all_of_loopback(caller: Caller | None, network: str, *, force: bool) -> None:
    """Refuse to block all of loopback for a caller whom the lists do not reach, but who is behind it.

    Raises WouldLockYouOut.
    """
    if caller is not None or force:
        return
    parsed = parse_network(network)
    if any(each.version == parsed.version and each.subnet_of(parsed) for each in _LOOPBACK):  # type: ignore[arg-type]  # of one version
        raise WouldLockYouOut(_("every visitor on this machine would be refused; send force: true if you mean it"))


def stays_refused(caller: Caller) -> bool:
    """True if the lists refuse the caller, and would without the changes that wait for a word, too."""
    if not is_refused(caller):
        return False
    waiting = PendingConfirmation.objects.filter(outcome="").order_by("-revision")[:_AT_ONCE]
    rows = list(waiting.values_list("previous", "revision"))
    if not rows:
        return True
    with transaction.atomic():
        for previous, last in rows:
            with suppress(Conflict):  # what cannot be taken back stays
                take_back(previous, last, actor="")
        refused = is_refused(caller)
        transaction.set_rollback(True)
    return refused


def is_refused(caller: Caller) -> bool:
    """True if the lists, as they stand in this transaction, refuse the caller at the host they asked for.

    The engine's own code says so (step 2 of the decision).
    """
    return _standing(caller).blocked is not None


def is_allowed(caller: Caller) -> bool:
    """True if the allowlist speaks for the caller at the host they asked for: no imported entry can shut them out."""
    return _standing(caller).allowed is not None


def _standing(caller: Caller) -> Standing:
    domain = DomainTable(policy_source.domains()).match(caller.host)
    return policy_source.lists_about(caller.address).standing(
        caller.address,
        domain.name if domain else None,
        timezone.now().timestamp(),
        allowlist_applies=caller.allowlist_applies,
    )
