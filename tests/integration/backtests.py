"""Helpers that create and run backtests."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from gatewall.policy.resources import Write
from gatewall.whatif.backtest import running, runs
from gatewall.whatif.backtest.drafts import Draft
from gatewall.whatif.backtest.models import State
from gatewall.whatif.backtest.proposals import Changes
from tests.support.cast import CLIENT

BLOCK = Draft("ip-black-list", Write.CREATE, None, {"ip": CLIENT})


def a_draft(resource, change="create", row_id=None, **values):
    return Draft(resource, Write(change), row_id, values)


def changes(*drafts, force=False):
    return Changes(drafts, force)


def asked(draft, **values):
    end = timezone.now() + timedelta(minutes=1)
    usual: dict[str, Any] = {"start": end - timedelta(hours=1), "end": end, "actor": "alice", "caller": None}
    return runs.queue(draft, **(usual | values))


def run_of(draft, **values):
    """Run a backtest at once; return its result."""
    run = asked(draft, **values)
    claimed = runs.claim_run(run, timezone.now())
    assert claimed is not None
    assert running.run(claimed)
    run.refresh_from_db()
    assert run.state == State.FINISHED
    return run.result


def turns(result):
    return {(each["from"]["reason"], each["to"]["reason"]): each["count"] for each in result["changes"]["results"]}
