"""Dry run of a proposal: build the current policy, and the policy with the proposal applied.

The services apply the proposal in a transaction that is rolled back, so it is validated like the change itself, and
side effects of the change (scopes, rules of a domain) are part of the second policy. Nothing is published.
"""

from dataclasses import replace
from functools import partial

from gatewall.kernel.clientip import Caller
from gatewall.policy import revisions
from gatewall.snapshot.files import PolicyFiles
from gatewall.whatif.backtest.proposals import Proposal, apply
from gatewall.whatif.hypothetical import Policies, policies_with


def try_out(proposal: Proposal, *, actor: str, caller: Caller | None) -> None:
    """Apply the proposal and roll back. Raises the errors of the change."""
    with revisions.rolled_back():
        apply(proposal, actor=actor, caller=caller)


def policies_of(proposal: Proposal, files: PolicyFiles) -> Policies:
    """Return the policies without and with the proposal. Raises its errors, PolicyMoves, SegmentRefused."""
    # Forced and without a caller: it was validated when it was queued.
    return policies_with(partial(apply, replace(proposal, force=True), actor="backtest", caller=None), files)
