"""Restore the policy of an earlier revision, as one new revision."""

from dataclasses import dataclass
from typing import Any

from django.db import transaction

from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.clientip import Caller
from gatewall.kernel.refusals import Gone
from gatewall.models import PendingConfirmation, PolicyRevision
from gatewall.policy import revisions
from policies.history.lockout import kept_in, stays_refused
from policies.history.rollback import roll_back
from policies.history.undo import Past


@revisions.one_at_a_time
def restore(number: int, *, actor: str, caller: Caller | None = None, force: bool = False) -> PolicyRevision:
    """Bring lists, WAF rules, countries, domains and settings back to what they were after this revision.

    Users, credentials and licenses stay, and none may enter more than before; automatic bans stay.
    Returns the new revision, or the last one if there was nothing to bring back.

    Raises Gone, CannotRestore, WouldLockYouOut.
    """
    if not PolicyRevision.objects.filter(pk=number).exists():
        raise Gone(_("there is no such revision"))
    head = revisions.current().revision
    past = Past(head, number)
    with kept_in(caller, force=force):
        roll_back(past, actor)
    return PolicyRevision.objects.get(pk=revisions.current().revision)


@dataclass(frozen=True, slots=True)
class Preview:
    """What a restore would do, as a revision says it, and whether it would shut the caller out."""

    head: int
    changes: list[dict[str, Any]] | None
    counts: list[dict[str, Any]]
    locks_out: bool


def preview(number: int, *, caller: Caller | None = None) -> Preview:
    """Return what a restore would do, by doing and undoing it. Raises Gone, CannotRestore."""
    with transaction.atomic():
        head = revisions.current().revision
        was_refused = caller is not None and stays_refused(caller)
        row = restore(number, actor="", caller=caller, force=True)
        is_new = row.number > head
        PendingConfirmation.objects.filter(revision__gt=head).delete()  # it would count as taken back
        locks_out = caller is not None and not was_refused and stays_refused(caller)
        transaction.set_rollback(True)
    revisions.expect_confirmation(None)
    return Preview(head, row.changes if is_new else [], (row.counts or []) if is_new else [], locks_out)
