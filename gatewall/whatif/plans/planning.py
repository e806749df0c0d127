"""Make plans: what a proposal changes and resets, which expectations pass, and whether its author is locked out.

Everything here is a dry run in a transaction that is rolled back. The replay follows in the background, as a backtest.
"""

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gatewall.kernel.changes import Action
from gatewall.kernel.clientip import Caller
from gatewall.models import PolicyRevision
from gatewall.policy import revisions
from gatewall.whatif.backtest import proposals, runs
from gatewall.whatif.backtest.models import Backtest
from gatewall.whatif.backtest.proposals import Proposal, WholeDocument
from gatewall.whatif.expectations import Outcome, outcomes, segments_now
from policies.document.export import export
from policies.document.sections import SETTINGS, setting_defaults
from policies.history.lockout import stays_refused, tell_blocking_loopback
from policies.history.rule_lockout import let_in_now, refused_of


@dataclass(frozen=True, slots=True)
class _DryRun:
    """The effects of a proposal on the policy of ``revision``; ``changes`` is None if there are too many to list."""

    epoch: str
    revision: int
    changes: list[dict[str, Any]] | None
    counts: list[dict[str, Any]]
    reset_settings: list[dict[str, Any]]
    expectations: list[Outcome]
    locks_out: bool


def plan(proposal: Proposal, *, start: datetime, end: datetime, actor: str, caller: Caller | None) -> Backtest:
    """Return a plan whose replay is queued; the policy is not changed.

    Raises the errors of the change except that it would lock the caller out, and TooManyBacktests.
    """
    with revisions.rolled_back():
        found = _dry_run(proposal, caller)
    return runs.enqueue(
        proposal,
        start=start,
        end=end,
        actor=actor,
        digest=digest_of(found.epoch, found.revision, proposal),
        base_revision=found.revision,
        planned={
            "changes": found.changes,
            "counts": found.counts,
            "reset_settings": found.reset_settings,
            "expectations": [each.as_json() for each in found.expectations],
            "why_undecidable": {
                each.name: each.undecidable.as_json() for each in found.expectations if each.undecidable
            },
            "would_lock_you_out": found.locks_out,
        },
    )


def digest_of(epoch: str, revision: int, proposal: Proposal) -> str:
    """Return the identity of a proposal for the policy of a revision: a SHA-256 in hex."""
    if isinstance(proposal, WholeDocument):
        canonical = proposal.text
    else:
        values = {name: value for name, value in proposals.as_json(proposal).items() if name != "force"}
        resource = getattr(proposal, "resource", "")
        canonical = json.dumps([resource, values], sort_keys=True, separators=(",", ":"))
    parts = epoch, str(revision), proposals.kind_of(proposal).value, canonical
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@revisions.one_at_a_time
def _dry_run(proposal: Proposal, caller: Caller | None) -> _DryRun:
    version, segments, reset = revisions.current(), segments_now(), _reset_settings(proposal)
    was_refused = caller is not None and stays_refused(caller)
    let_in = let_in_now(caller) if caller is not None else set()
    # Without a caller, so that a lock-out is reported and not refused.
    with revisions.as_one_revision("plan") as made, tell_blocking_loopback() as loopback:
        proposals.apply(proposal, actor="plan", caller=None)
    if caller is None:
        locks_out = bool(loopback)
    else:
        locks_out = (not was_refused and stays_refused(caller)) or refused_of(let_in, caller) is not None
    return _DryRun(
        epoch=version.epoch,
        revision=version.revision,
        changes=_shown(made.revision),
        counts=(made.revision.counts or []) if made.revision else [],
        reset_settings=reset,
        expectations=outcomes(segments),
        locks_out=locks_out,
    )


def _reset_settings(proposal: Proposal) -> list[dict[str, Any]]:
    """Return the settings that are reset to their default because a document leaves them out, with old values."""
    if not isinstance(proposal, WholeDocument):
        return []
    now, defaults = export([SETTINGS]).settings or {}, setting_defaults()
    return [
        {"name": name, "before": now[name], "after": defaults[name]}
        for name in proposal.unlisted_settings
        if now[name] != defaults[name]
    ]


def _shown(revision: PolicyRevision | None) -> list[dict[str, Any]] | None:
    """Return the changes; rows that would be created have no id yet."""
    if revision is None:
        return []
    if revision.changes is None:
        return None
    return [{**each, "id": None} if each["action"] == Action.CREATED else each for each in revision.changes]
