"""The lock-out guard: who changes policy should still be able to change it back."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.utils import timezone

from gatewall.clientip import Caller
from gatewall.engine.hosts import DomainTable
from gatewall.refusals import Conflict
from policies import policy_source


class WouldLockYouOut(Conflict):
    """After the change, the caller's own address would be refused; by force it may be."""

    code = "would-lock-you-out"


@contextmanager
def kept_in(caller: Caller | None, *, force: bool) -> Iterator[None]:
    """Refuse what is done inside if the lists refuse the caller after it and did not before.

    For a service that holds the head. Nobody to keep in (None): a command, or a person at the machine.

    Raises WouldLockYouOut.
    """
    if caller is None or force:
        yield
        return
    was_refused = is_refused(caller)
    yield
    if not was_refused and is_refused(caller):
        raise WouldLockYouOut(f"your own address {caller.address} would be refused; send force: true if you mean it")


def is_refused(caller: Caller) -> bool:
    """True if the lists, as they stand in this transaction, refuse the caller at the host he asked for.

    The engine's own code says so (step 2 of the decision).
    """
    domain = DomainTable(policy_source.domains()).match(caller.host)
    standing = policy_source.lists_about(caller.address).standing(
        caller.address,
        domain.name if domain else None,
        timezone.now().timestamp(),
        allowlist_applies=caller.allowlist_applies,
    )
    return standing.blocked is not None
