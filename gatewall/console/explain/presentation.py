"""Present a decision on a page: labels of steps, reasons and outcomes, signs, and links to the rows behind it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from gatewall.engine.model import Reason
from gatewall.engine.steps import STEPS
from gatewall.publication.resources import named

STEP_TITLES = {step.name: _(step.title) for step in STEPS}
REASONS = {reason.value: _(reason.words) for reason in Reason}
ADVICE = {reason.value: _(reason.advice) for reason in Reason if reason.advice}
"""Advice for a refusal without a proposed exemption."""
OUTCOMES = {
    "allow": _("let through"),
    "challenge": _("asked to sign in"),
    "deny": _("refused"),
    "error": _("no answer"),
}
MISSING = {
    "request": _("the host and path of the request are not recorded"),
    "policy-age": _("the age of the policy at that time is not recorded"),
    "path": _("the path was recorded masked or truncated"),
    "headers": _("the headers of a CORS preflight are not recorded"),
    "credential": _("the credential is not recorded"),
    "request-rate": _("the request rate at that time is not recorded"),
    "waf-rules": _("the parts that WAF rules inspect are not recorded"),
}
ASSUMED = {
    "credential": _("the credential still identifies the same subject"),
    "request-rate": _("the address sends as many requests as it did then"),
    "waf-rules": _("WAF rules that have not changed match as they did then"),
}
ACTIONS = {"created": _("added"), "changed": _("changed"), "deleted": _("removed")}
_FORMS = {"as-sent": _("as sent"), "decoded": _("decoded"), "rewritten": _("rewritten")}
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
        "advice": ADVICE.get(decision["reason"], ""),
        "row": row_shown(decision["decided_by"] or decision.get("grant")),
        "retry_after": decision.get("retry_after"),
    }


def scope_shown(scope: Mapping[str, Any] | None, subject: Mapping[str, Any] | None, host: str) -> str:
    """Return a sentence with the reason why a subject may or may not enter a host; empty without a subject."""
    if scope is None or subject is None:
        return ""
    words = {"name": subject["name"] or f"{subject['kind']} {subject['id']}", "host": host}
    if scope["admin"]:
        return gettext("%(name)s is an admin and may enter every host.") % words
    groups = {**words, "groups": ", ".join(scope["groups"])}
    if scope["own"] and scope["groups"]:
        return gettext("%(name)s may enter %(host)s by their own scope and through %(groups)s.") % groups
    if scope["groups"]:
        return (
            ngettext(
                "%(name)s may enter %(host)s through the group %(groups)s.",
                "%(name)s may enter %(host)s through the groups %(groups)s.",
                len(scope["groups"]),
            )
            % groups
        )
    if scope["own"]:
        return gettext("%(name)s may enter %(host)s by their own scope.") % words
    return gettext("Neither the scope of %(name)s nor a group covers %(host)s.") % words


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
        return "undecidable", gettext("cannot be determined: %(why)s") % {"why": MISSING[step["undecidable"]]}
    outcome = OUTCOMES.get(step["outcome"])
    if outcome is None:
        return ("not-matched", gettext("not matched")) if step["reached"] else ("not-reached", gettext("not reached"))
    if step["reached"]:
        return step["outcome"], gettext("matched: %(outcome)s") % {"outcome": outcome}
    return "not-reached", gettext("not reached; it would have been: %(outcome)s") % {"outcome": outcome}


def _rule(rule: Mapping[str, Any]) -> dict[str, Any]:
    places = [{**place, "form": _FORMS.get(place["form"], place["form"])} for place in rule["places"]]
    return {**rule, "places": places, "row": row_shown({"kind": "waf-rules", "id": rule["id"]})}


def _sign(state: str) -> str:
    return _SIGNS.get(state, "·")
