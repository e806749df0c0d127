"""Present a decision on a page: a sign and a label per step, and links to the rows behind it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from gatewall.console.explain.labels import FORMS, MISSING, OUTCOMES, REASONS, STEP_TITLES
from gatewall.publication.resources import named

_SIGNS = {
    "allow": "✓",
    "challenge": "✗",
    "deny": "✗",
    "error": "✗",
    "not-matched": "–",  # noqa: RUF001 - a dash, as a sign
    "undecidable": "?",
}


@dataclass(frozen=True, slots=True)
class Row:
    """A policy row: kind, id, and its page in the admin site, if any."""

    kind: str | Promise
    id: int
    url: str | None


@dataclass(frozen=True, slots=True)
class ShownStep:
    """A step: ``state`` is its CSS class, ``sign`` is decoration beside the label."""

    name: str | Promise
    state: str
    sign: str
    words: str
    decided: bool
    row: Row | None
    rules: Sequence[Mapping[str, Any]]


def row_shown(row: Mapping[str, Any] | None) -> Row | None:
    """Return the row of a kind and id."""
    if row is None or row.get("id") is None:
        return None
    resource = named(str(row["kind"]))
    url = reverse(resource.admin_page, args=[row["id"]]) if resource else None
    return Row(resource.title if resource else row["kind"], row["id"], url)


def decision_shown(decision: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return an answer with labels."""
    if decision is None:
        return None
    return {
        "state": decision["outcome"],
        "sign": _sign(decision["outcome"]),
        "outcome": OUTCOMES.get(decision["outcome"], decision["outcome"]),
        "status": decision["status"],
        "code": decision["reason"],
        "reason": REASONS.get(decision["reason"], decision["reason"]),
        "row": row_shown(decision["decided_by"]),
        "retry_after": decision.get("retry_after"),
    }


def steps_shown(trace: Sequence[Mapping[str, Any]]) -> list[ShownStep]:
    """Return the steps of a trace from any of the API's answers."""
    return [_step(step) for step in trace]


def _step(step: Mapping[str, Any]) -> ShownStep:
    state, words = _state_of(step)
    return ShownStep(
        STEP_TITLES.get(step["step"], step["step"]),
        state,
        _sign(state),
        words,
        step["decided"],
        row_shown(step["decided_by"]),
        [_rule(rule) for rule in step["rules"]],
    )


def _state_of(step: Mapping[str, Any]) -> tuple[str, str]:
    if step["reached"] and step.get("undecidable"):
        return "undecidable", _("cannot be known: %(why)s") % {"why": MISSING[step["undecidable"]]}
    outcome = step["outcome"]
    applies = outcome in OUTCOMES
    if not step["reached"]:
        words = _("not reached; it would have been: %(outcome)s") % {"outcome": OUTCOMES[outcome]} if applies else ""
        return "not-reached", words or _("not reached")
    if applies:
        return outcome, _("matched: %(outcome)s") % {"outcome": OUTCOMES[outcome]}
    return "not-matched", _("not matched")


def _rule(rule: Mapping[str, Any]) -> dict[str, Any]:
    places = [{**place, "form": FORMS.get(place["form"], place["form"])} for place in rule["places"]]
    return {**rule, "places": places, "row": row_shown({"kind": "waf-rules", "id": rule["id"]})}


def _sign(state: str) -> str:
    return _SIGNS.get(state, "·")
