"""Makes the draft of a finished backtest the policy, by the service of its resource and behind its guards."""

from typing import Any

from django.db import transaction

from gatewall.backtest import runs
from gatewall.backtest.drafts import Change, Draft, apply
from gatewall.backtest.models import Backtest, State
from gatewall.changes import Resource
from gatewall.clientip import Caller
from gatewall.engine.model import Action
from gatewall.refusals import Conflict

MONITOR, ENFORCE = "monitor", "enforce"


class SavedAlready(Conflict):
    """The draft was made the policy before."""

    code = "backtest-saved"


class NoMonitor(Conflict):
    """Only a WAF rule can be saved without refusing anybody."""

    code = "no-monitor"


def may_monitor(draft: Draft) -> bool:
    """True if there is a way to save the draft that refuses nobody."""
    return draft.resource == Resource.WAF_RULES and draft.change is not Change.DELETE


@transaction.atomic
def save(run: Backtest, how: str, *, actor: str, caller: Caller | None, force: bool) -> Any:
    """Make the draft the policy, as it is (``ENFORCE``) or as a rule that only records (``MONITOR``); return the row.

    The remark or description says which backtest it came of. Raises NotFinished, SavedAlready, NoMonitor, and what
    the service raises.
    """
    run = Backtest.objects.select_for_update().filter(pk=run.pk).first() or run
    if run.state != State.FINISHED or run.result is None:
        raise runs.NotFinished("it has no result yet: wait for it, or change the policy without it")
    if run.saved is not None:
        raise SavedAlready("this draft was saved before")
    draft = runs.draft_of(run)
    if how == MONITOR and not may_monitor(draft):
        raise NoMonitor("only a WAF rule can be saved as monitor")
    other = {"action": Action.MONITOR.value} if how == MONITOR else {}
    wanted = Draft(draft.resource, draft.change, draft.id, draft.values, force=force)
    row = apply(wanted, actor=actor, caller=caller, note=_note(run), **other)
    run.saved = {"how": how, "id": getattr(row, "pk", None)}
    run.save(update_fields=["saved"])
    return row


def _note(run: Backtest) -> str:
    changed, read = run.result["changed"], run.result["read"]
    return f"backtest {run.pk}: {changed:,} of {read:,} requests would be answered otherwise"
