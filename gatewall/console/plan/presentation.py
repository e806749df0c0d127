"""A plan in words: its diff, its expectations, and the state of its revision."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from audit.events.revision_events import without_secrets
from gatewall.api.translation import translated
from gatewall.console.backtest.proposal_words import in_words
from gatewall.console.backtest.results import STATES, access_shown, gaps_shown, tables_shown
from gatewall.console.explain.presentation import OUTCOMES, REASONS, row_shown
from gatewall.console.policy.changes import CHANGES_ON_PAGE, change_shown, counts_shown, value_shown
from gatewall.console.site import links
from gatewall.engine.messages import stored_message
from gatewall.models import PendingConfirmation, RefusalWatch
from gatewall.whatif.backtest import runs
from gatewall.whatif.backtest.models import Backtest, State
from gatewall.whatif.plans import applying

_REPLAY_TABLES = {"changes", "hosts"}
_REFUSED_ON_PAGE = 20
_FEW_CHANGES = 3
_BOOKKEEPING = ("created_at", "created_by")
_IDS = "_ids"


def listed(row: Backtest) -> dict[str, Any]:
    """Return a plan as a row of the list."""
    planned = row.planned or {}
    return {
        "row": row,
        **in_words(runs.proposal_of(row)),
        "state": STATES[row.state],
        "counts": counts_shown(planned.get("counts")),
        "locks_out": planned.get("would_lock_you_out", False),
        "failed": sum(not each["passed"] for each in planned.get("expectations", ())),
        "applied": (row.saved or {}).get("id"),
    }


def plan_shown(row: Backtest, *, with_secrets: bool) -> dict[str, Any]:
    """Return the context of the page of a plan."""
    planned, application = row.planned or {}, applying.application_of(row)
    changes = planned.get("changes")
    shown = (changes or [])[:CHANGES_ON_PAGE]
    return {
        "run": listed(row),
        "is_open": row.state in {State.QUEUED, State.RUNNING},
        "application": application,
        "is_stale": application is None and applying.is_stale(row),
        "sections": list(_sections(shown if with_secrets else map(without_secrets, shown))),
        "is_listed": changes is not None,
        "is_short": len(shown) <= _FEW_CHANGES,
        "left_out": len(changes or ()) - len(shown),
        "reset_settings": [_setting_shown(each) for each in planned.get("reset_settings", ())],
        "expectations": _expectations(planned),
        **_outcome((application or {}).get("id")),
        **_replay(row),
    }


def _sections(changes: Any) -> Iterator[tuple[Any, list[dict[str, Any]]]]:
    """Yield each kind of object with its changes."""
    by_resource = sorted(changes, key=lambda change: str(change["resource"]))
    for _resource, found in groupby(by_resource, key=lambda change: change["resource"]):
        shown = [change_shown(_of_the_document(change)) for change in found]
        yield shown[0]["resource"], shown


def _of_the_document(change: Mapping[str, Any]) -> dict[str, Any]:
    """Return a change without the fields that no document has: creation time, author, and ids."""
    sides = {
        side: {name: value for name, value in change[side].items() if name not in _BOOKKEEPING and _IDS not in name}
        for side in ("before", "after")
    }
    return {**change, **sides}


def _setting_shown(reset: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": reset["name"], "before": value_shown(reset["before"]), "after": value_shown(reset["after"])}


def _expectations(planned: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the expectations, the failed ones first."""
    why = planned.get("why_undecidable", {})
    shown = [
        {
            **each,
            "wanted": _answer(each["wanted"]),
            "got": _answer(each["got"]),
            "row": row_shown((each["got"] or {}).get("decided_by")),
            "why": translated(stored_message(why.get(each["name"]), each["undecidable"] or "")),
        }
        for each in planned.get("expectations", ())
    ]
    return sorted(shown, key=lambda each: bool(each["passed"]))


def _answer(answer: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if answer is None:
        return None
    effect, reason = answer["effect"], answer.get("reason")
    return {"outcome": OUTCOMES.get(effect, effect), "reason": REASONS.get(reason, reason) if reason else ""}


def _outcome(number: int | None) -> dict[str, Any]:
    """Return the state of the revision that applied a plan: its confirmation, and the people that it refuses."""
    if number is None:
        return {}
    watch = RefusalWatch.objects.filter(pk=number).first()
    refused = watch.refused if watch else []
    return {
        "confirmation": PendingConfirmation.objects.filter(pk=number).first(),
        "watch": watch,
        "refused_people": [{**each, "link": links.explain(each["decision_id"])} for each in refused[:_REFUSED_ON_PAGE]],
        "before": watch.previous if watch else number - 1,
    }


def _replay(row: Backtest) -> dict[str, Any]:
    result = row.result
    if not result:
        return {}
    tables = [table for table in tables_shown(result) if table["name"] in _REPLAY_TABLES]
    return {"access": access_shown(result), "gaps": gaps_shown(result), "tables": tables}
