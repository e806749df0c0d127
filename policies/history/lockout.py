"""Lockout guard: warn operators before a policy change locks them out."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from ipaddress import IPv4Network, IPv6Network
from typing import TypeVar

from django.conf import settings
from django.utils import timezone

from gatewall.engine.addresses import parse_network
from gatewall.engine.hosts import DomainTable
from gatewall.engine.lists import Standing
from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.clientip import Caller
from gatewall.kernel.refusals import Conflict, Overridable
from gatewall.models import PendingConfirmation
from gatewall.policy import revisions
from policies import policy_source
from policies.history.confirmation import await_confirmation
from policies.history.rollback import take_back

_MAX_PENDING = 100
Answer = TypeVar("Answer")
_LOOPBACK = (IPv4Network("127.0.0.0/8"), IPv6Network("::1/128"))
_reported: ContextVar[list[str] | None] = ContextVar("_reported", default=None)


class WouldLockYouOut(Overridable):
    """The change would refuse the caller's own address and was not forced."""

    code = "would-lock-you-out"


@contextmanager
def guard_against_lockout(caller: Caller | None, *, force: bool) -> Iterator[None]:
    """Raise WouldLockYouOut if the changes in the block lock the caller out.

    For a service that holds the head and creates its revision inside. A command has no caller, and nothing to protect.
    With ``force``, the changes are made and are reverted unless somebody confirms them (``confirmation.py``).
    Pending forced changes are ignored when judging whether the caller was locked out before.
    """
    if caller is None:
        yield
        return
    was_refused, before = stays_refused(caller), revisions.current().revision
    yield
    if was_refused or not stays_refused(caller):
        return
    if not force:
        raise WouldLockYouOut(_("your own address %(address)s would be refused"), address=caller.address)
    await_confirmation(before, caller, seconds=settings.GATEWALL_CONFIRM_SECONDS)


def refuse_blocking_loopback(caller: Caller | None, network: str, *, force: bool) -> None:
    """Raise WouldLockYouOut for a block of all of loopback, if there is no caller and the block is not forced."""
    if caller is not None or force:
        return
    parsed = parse_network(network)
    if any(each.version == parsed.version and each.subnet_of(parsed) for each in _LOOPBACK):  # type: ignore[arg-type]  # of one version
        reported = _reported.get()
        if reported is None:
            raise WouldLockYouOut(_("every visitor on this machine would be refused"))
        reported.append(network)


@contextmanager
def tell_blocking_loopback() -> Iterator[list[str]]:
    """Collect the networks that ``refuse_blocking_loopback`` would refuse within the block, for a dry run."""
    reported: list[str] = []
    token = _reported.set(reported)
    try:
        yield reported
    finally:
        _reported.reset(token)


def stays_refused(caller: Caller) -> bool:
    """Return whether the lists refuse the caller, with and without the pending forced changes."""
    return is_refused(caller) and without_pending(lambda: is_refused(caller)) is not False


def without_pending(ask: Callable[[], Answer]) -> Answer | None:
    """Return what ``ask`` returns under the policy without the pending forced changes; None if there are none."""
    waiting = PendingConfirmation.objects.filter(outcome="").order_by("-revision")[:_MAX_PENDING]
    rows = list(waiting.values_list("previous", "revision"))
    if not rows:
        return None
    with revisions.rolled_back():
        for previous, last in rows:
            with suppress(Conflict):  # a change that cannot be reverted is kept
                take_back(previous, last, actor="")
        return ask()


def is_refused(caller: Caller) -> bool:
    """Return whether the policy in this transaction refuses the caller at the requested host."""
    return _standing(caller).blocked is not None


def is_allowed(caller: Caller) -> bool:
    """Return whether an allowlist entry applies to the caller at the requested host; it overrides imported blocks."""
    return _standing(caller).allowed is not None


def _standing(caller: Caller) -> Standing:
    domain = DomainTable(policy_source.domains()).match(caller.host)
    return policy_source.lists_about(caller.address).standing(
        caller.address,
        domain.name if domain else None,
        timezone.now().timestamp(),
        allowlist_applies=caller.allowlist_applies,
    )
