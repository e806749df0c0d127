"""The number of the policy. Whoever changes policy advances it in the same transaction.

Apps announce a change here and know nothing of snapshots.
"""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from gatewall.engine.snapshot import Version
from gatewall.models import PolicyHead

_ONLY = 1
P = ParamSpec("P")
R = TypeVar("R")


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


def advance() -> None:
    """Move to the next policy revision. Raises TransactionManagementError outside a transaction."""
    _move(revision=F("revision") + 1)


def advance_revocations() -> None:
    """Announce a revoked session, which is no change of policy. Raises as ``advance()`` does."""
    _move(revocations=F("revocations") + 1)


def current() -> Version:
    """Return the version in force, as this transaction sees it."""
    row = PolicyHead.objects.filter(pk=_ONLY).values_list("revision", "revocations").first()
    return Version(*row) if row else Version(0, 0)


def _hold() -> None:
    head = PolicyHead.objects.select_for_update().filter(pk=_ONLY)
    if not list(head):
        PolicyHead.objects.get_or_create(pk=_ONLY)
        list(head.all())


def _move(**change: object) -> None:
    if not transaction.get_connection().in_atomic_block:
        raise transaction.TransactionManagementError("policy changes and their revision belong in one transaction")
    change["advanced_at"] = timezone.now()
    if not PolicyHead.objects.filter(pk=_ONLY).update(**change):
        PolicyHead.objects.get_or_create(pk=_ONLY)
        PolicyHead.objects.filter(pk=_ONLY).update(**change)
