"""The number of the policy. Whoever changes policy advances it in the same transaction.

Apps announce a change here and know nothing of snapshots.
"""

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from gatewall.engine.snapshot import Version
from gatewall.models import PolicyHead

_ONLY = 1


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


def _move(**change: object) -> None:
    if not transaction.get_connection().in_atomic_block:
        raise transaction.TransactionManagementError("policy changes and their revision belong in one transaction")
    change["advanced_at"] = timezone.now()
    if not PolicyHead.objects.filter(pk=_ONLY).update(**change):
        PolicyHead.objects.get_or_create(pk=_ONLY)
        PolicyHead.objects.filter(pk=_ONLY).update(**change)
