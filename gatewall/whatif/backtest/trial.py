"""Build the current policy, and the policy with a draft applied.

The services apply the draft in a transaction that is rolled back, so the draft is validated like the change itself, and
side effects of the change (scopes, rules of a domain) are part of the second policy. Nothing is published.
"""

from dataclasses import replace
from functools import partial

from gatewall.kernel.clientip import Caller
from gatewall.policy import revisions
from gatewall.snapshot.files import PolicyFiles
from gatewall.whatif.backtest.drafts import Draft, apply
from gatewall.whatif.hypothetical import Policies, policies_with


def try_out(draft: Draft, *, actor: str, caller: Caller | None) -> None:
    """Apply the draft and roll back. Raises the errors of the change."""
    with revisions.rolled_back():
        apply(draft, actor=actor, caller=caller)


def policies_of(draft: Draft, files: PolicyFiles) -> Policies:
    """Return the policies without and with the draft. Raises the draft's errors, PolicyMoves, SegmentRefused."""
    # Forced and without a caller: the draft was validated when it was queued.
    return policies_with(partial(apply, replace(draft, force=True), actor="backtest", caller=None), files)
