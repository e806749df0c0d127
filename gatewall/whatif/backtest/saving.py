"""Save the proposal of a finished backtest as policy, through the services of the change itself."""

from dataclasses import replace
from typing import Any

from gatewall.engine.messages import gettext_noop as _
from gatewall.engine.model import Action
from gatewall.kernel.changes import Resource
from gatewall.kernel.clientip import Caller
from gatewall.kernel.refusals import Conflict, Overridable
from gatewall.policy import revisions
from gatewall.policy.resources import Write
from gatewall.whatif.backtest import runs
from gatewall.whatif.backtest.drafts import Draft
from gatewall.whatif.backtest.models import Backtest, State
from gatewall.whatif.backtest.proposals import Proposal, WholeDocument, apply
from gatewall.whatif.backtest.staleness import may_have_changed
from gatewall.whatif.expectations import require_expectations, segments_now

MONITOR, ENFORCE = "monitor", "enforce"


class SavedAlready(Conflict):
    """The proposal was saved before."""

    code = "backtest-saved"


class NoMonitor(Conflict):
    """Only a WAF rule can be saved as ``monitor``."""

    code = "no-monitor"


class OtherRow(Overridable):
    """A row that the proposal changes was changed since the trial."""

    code = "backtest-stale"


def may_monitor(proposal: Proposal) -> bool:
    """Return whether the proposal can be saved as a rule that only monitors."""
    if not isinstance(proposal, Draft):
        return False
    return proposal.resource == Resource.WAF_RULES and proposal.change is not Write.DELETE


@revisions.one_at_a_time
def save(run: Backtest, how: str, *, actor: str, caller: Caller | None, force: bool) -> Any:
    """Save the proposal unchanged (``ENFORCE``) or as a monitoring rule (``MONITOR``); return its row, if it is one.

    The remarks or descriptions of its rows name the backtest. Raises Gone, NotFinished, SavedAlready, NoMonitor,
    OtherRow (unless forced), ExpectationFailed for a document, and the errors of the services.
    """
    run = revisions.as_it_is_now(run)
    if run.state != State.FINISHED or run.result is None:
        raise runs.NotFinished(_("the backtest has no result yet: wait, or change the policy without a backtest"))
    if run.saved is not None:
        raise SavedAlready(_("this draft is saved already"))
    proposal = runs.proposal_of(run)
    if how == MONITOR and not may_monitor(proposal):
        raise NoMonitor(_("only a WAF rule can be saved as monitor"))
    if not force and may_have_changed(proposal, run.result["policy_revision"]):
        raise OtherRow(_("a row of this draft was changed after the backtest"))
    other = {"action": Action.MONITOR.value} if how == MONITOR else {}
    segments = segments_now()
    row = apply(replace(proposal, force=force), actor=actor, caller=caller, note=_note(run), **other)
    if isinstance(proposal, WholeDocument):
        require_expectations(segments)
    run.saved = {"how": how, "id": getattr(row, "pk", None)}
    run.save(update_fields=["saved"])
    return row


def _note(run: Backtest) -> str:
    result: dict[str, Any] = run.result or {}
    changed, read = result["changed"], result["read"]
    return f"backtest {run.pk}: {changed:,} of {read:,} requests would get another answer"
