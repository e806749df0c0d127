"""Save the draft of a finished backtest as policy, through the service of its resource."""

from dataclasses import replace
from typing import Any

from gatewall.engine.messages import gettext_noop as _
from gatewall.engine.model import Action
from gatewall.kernel.changes import Resource
from gatewall.kernel.clientip import Caller
from gatewall.kernel.refusals import Conflict
from gatewall.models import PolicyRevision
from gatewall.policy import revisions
from gatewall.policy.resources import Write
from gatewall.whatif.backtest import runs
from gatewall.whatif.backtest.drafts import Draft, apply
from gatewall.whatif.backtest.models import Backtest, State
from gatewall.whatif.change_histories import MAX_REVISIONS

MONITOR, ENFORCE = "monitor", "enforce"


class SavedAlready(Conflict):
    """The draft was saved before."""

    code = "backtest-saved"


class NoMonitor(Conflict):
    """Only a WAF rule can be saved as ``monitor``."""

    code = "no-monitor"


class OtherRow(Conflict):
    """The row has changed since the draft was tried."""

    code = "backtest-stale"


def may_monitor(draft: Draft) -> bool:
    """Return whether the draft can be saved as a rule that only monitors."""
    return draft.resource == Resource.WAF_RULES and draft.change is not Write.DELETE


@revisions.one_at_a_time
def save(run: Backtest, how: str, *, actor: str, caller: Caller | None, force: bool) -> Any:
    """Save the draft as it is (``ENFORCE``) or as a monitoring rule (``MONITOR``); return the row.

    The remark or description names the backtest. Raises Gone, NotFinished, SavedAlready, NoMonitor, OtherRow (unless
    forced), and the errors of the service.
    """
    run = revisions.as_it_is_now(run)
    if run.state != State.FINISHED or run.result is None:
        raise runs.NotFinished(_("it has no result yet: wait for it, or change the policy without it"))
    if run.saved is not None:
        raise SavedAlready(_("this draft was saved before"))
    draft = runs.draft_of(run)
    if how == MONITOR and not may_monitor(draft):
        raise NoMonitor(_("only a WAF rule can be saved as monitor"))
    if not force and _may_have_changed(draft, run.result["policy_revision"]):
        raise OtherRow(_("the row was changed after the draft was tried: try it again, or send force: true"))
    other = {"action": Action.MONITOR.value} if how == MONITOR else {}
    row = apply(replace(draft, force=force), actor=actor, caller=caller, note=_note(run), **other)
    run.saved = {"how": how, "id": getattr(row, "pk", None)}
    run.save(update_fields=["saved"])
    return row


def _may_have_changed(draft: Draft, revision: int) -> bool:
    """Return whether the row may have changed since this revision."""
    if draft.id is None:
        return False
    since = PolicyRevision.objects.filter(number__gt=revision)
    passed = revisions.current().revision - revision
    if passed > MAX_REVISIONS or since.count() != passed:
        return True
    of_its_kind = since.filter(resources__contains=f" {draft.resource} ").values_list("changes", flat=True)
    return any(
        changes is None or any((each["resource"], each["id"]) == (draft.resource, draft.id) for each in changes)
        for changes in of_its_kind.iterator(chunk_size=20)
    )


def _note(run: Backtest) -> str:
    result: dict[str, Any] = run.result or {}
    changed, read = result["changed"], result["read"]
    return f"backtest {run.pk}: {changed:,} of {read:,} requests would be answered otherwise"
