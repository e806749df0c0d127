"""Restore the policy of an earlier revision, as one new revision."""

from dataclasses import dataclass
from typing import Any

from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.clientip import Caller
from gatewall.kernel.refusals import Gone
from gatewall.models import PendingConfirmation, PolicyRevision
from gatewall.policy import revisions
from policies.history.lockout import guard_against_lockout, stays_refused
from policies.history.rollback import roll_back
from policies.history.rule_lockout import guard_against_rules, let_in_now, refused_of
from policies.history.undo import Past


@revisions.one_at_a_time
def restore(number: int, *, actor: str, caller: Caller | None = None, force: bool = False) -> PolicyRevision:
    """Restore lists, WAF rules, countries, domains and settings as they were after this revision.

    Users, credentials, licenses and automatic bans are not changed; no scope becomes wider.
    Returns the new revision, or the last one if nothing changes.
    Raises Gone, CannotRestore, WouldLockYouOut.
    """
    if not PolicyRevision.objects.filter(pk=number).exists():
        raise Gone(_("there is no such revision"))
    head = revisions.current().revision
    past = Past(head, number)
    with guard_against_lockout(caller, force=force), guard_against_rules(caller, force=force):
        roll_back(past, actor)
    return PolicyRevision.objects.get(pk=revisions.current().revision)


@dataclass(frozen=True, slots=True)
class Preview:
    """The changes a restore would make, in the form of a revision, and whether it would lock the caller out."""

    head: int
    changes: list[dict[str, Any]] | None
    counts: list[dict[str, Any]]
    locks_out: bool


def preview(number: int, *, caller: Caller | None = None) -> Preview:
    """Return a dry run of a restore, made in a transaction that is rolled back. Raises Gone, CannotRestore."""
    with revisions.rolled_back():
        head = revisions.current().revision
        was_refused = caller is not None and stays_refused(caller)
        let_in = let_in_now(caller) if caller is not None else set()
        row = restore(number, actor="", caller=caller, force=True)
        is_new = row.number > head
        PendingConfirmation.objects.filter(revision__gt=head).delete()  # otherwise stays_refused() ignores the restore
        locks_out = caller is not None and (
            (not was_refused and stays_refused(caller)) or refused_of(let_in, caller) is not None
        )
    return Preview(head, row.changes if is_new else [], (row.counts or []) if is_new else [], locks_out)
