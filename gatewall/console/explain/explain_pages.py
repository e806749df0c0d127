"""Pages that explain a recorded or hypothetical decision, and create an exemption for a refused request."""

import uuid
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from audit.log import selectors
from audit.spool.records import AccessRecord, grant_of
from audit.spool.rows import record_of_row
from gatewall.api.caller import caller_of
from gatewall.api.translation import messages_of
from gatewall.console.explain.access_rules import access_shown
from gatewall.console.explain.presentation import (
    ASSUMED,
    MISSING,
    decision_shown,
    row_shown,
    scope_shown,
    steps_shown,
)
from gatewall.console.site.pages import OperatorPage
from gatewall.engine.model import Effect
from gatewall.kernel.refusals import Gone, Refusal
from gatewall.whatif import exemptions, explain_view
from gatewall.whatif.as_of import AsOf, policy_as_of
from gatewall.whatif.explain_request import explain
from gatewall.whatif.offers import Lifetime
from gatewall.whatif.replay_record import decide_again, trace

_FIELDS = ("client_ip", "host", "method", "uri", "scheme")
_MAX_LINES = 100
_MAX_DIGITS = 18
LIFETIMES = {
    "hour": gettext_lazy("1 hour"),
    "eight-hours": gettext_lazy("8 hours"),
    "day": gettext_lazy("1 day"),
    "week": gettext_lazy("7 days"),
    "month": gettext_lazy("30 days"),
    "endless": gettext_lazy("no end"),
}


class Explain(OperatorPage):
    """Forms for a decision id and for a hypothetical request; explains the latter."""

    template = "console/explain.html"
    title = gettext_lazy("Explain")
    post_reads = True

    def get(self, request: HttpRequest) -> HttpResponse:
        text = request.GET.get("decision_id", "").strip()
        if not text:
            number = request.GET.get("revision", "")[:_MAX_DIGITS]
            return self.render(request, values={"method": "GET", "uri": "/", "scheme": "https", "revision": number})
        try:
            decision_id = uuid.UUID(text)
        except ValueError:
            return self._wrong(request, _("A decision ID has 32 hexadecimal digits. The page of a refusal shows it."))
        if selectors.answer(decision_id) is None:
            words = _(
                "The log has no decision with this ID. A new one appears within seconds, and old ones are deleted."
            )
            return self._wrong(request, words, HTTPStatus.NOT_FOUND)
        return redirect("console:explain-receipt", decision_id=decision_id)

    def post(self, request: HttpRequest) -> HttpResponse:
        values = {name: request.POST.get(name, "") for name in (*_FIELDS, "headers", "kind", "name", "amr", "revision")}
        form = explain_view.ExplainInput(data=_as_sent(values))
        if not form.is_valid():
            return self.render(request, HTTPStatus.BAD_REQUEST, values=values, errors=_errors(form.errors))
        try:
            answer = explain(form.made_up(), form.as_of())
        except Refusal as error:
            errors = [("revision", text) for text in messages_of(error)]
            return self.render(request, HTTPStatus.CONFLICT, values=values, errors=errors)
        shown = {"decision": decision_shown(answer["decision"]), "steps": steps_shown(answer["trace"])}
        subject = row_shown(answer["subject"])
        scope = scope_shown(answer["scope"], answer["subject"], answer["domain"] or values["host"])
        access = access_shown(answer["access"])
        return self.render(request, values=values, answer=answer, subject=subject, scope=scope, access=access, **shown)

    def _wrong(self, request: HttpRequest, words: str, status: HTTPStatus = HTTPStatus.BAD_REQUEST) -> HttpResponse:
        text = request.GET.get("decision_id", "")[:100]
        return self.render(request, status, wrong=words, decision_id=text, values={"method": "GET", "uri": "/"})


class Receipt(OperatorPage):
    """One recorded decision, its replay under the policy of today or of a revision, and the exemptions for it."""

    template = "console/receipt.html"
    title = gettext_lazy("Explain a decision")

    def get(self, request: HttpRequest, decision_id: uuid.UUID) -> HttpResponse:
        again, revision = request.GET.get("again", "0"), request.GET.get("revision", "").strip()
        record = _record(decision_id)
        if again not in {"0", "1"} or set(request.GET) - {"again", "revision"}:
            messages.error(request, _("The only parameters are again=1 and revision, a number."))
            return self._page(request, record, again=False, status=HTTPStatus.BAD_REQUEST)
        if not revision:
            return self._page(request, record, again=again == "1")
        if not (revision.isascii() and revision.isdigit() and len(revision) <= _MAX_DIGITS):
            messages.error(request, _("The only parameters are again=1 and revision, a number."))
            return self._page(request, record, again=False, status=HTTPStatus.BAD_REQUEST)
        try:
            as_of = policy_as_of(int(revision))
        except Refusal as error:
            messages.error(request, " ".join(messages_of(error)))
            status = HTTPStatus.NOT_FOUND if isinstance(error, Gone) else HTTPStatus.CONFLICT
            return self._page(request, record, again=False, status=status)
        return self._page(request, record, again=True, as_of=as_of)

    def post(self, request: HttpRequest, decision_id: uuid.UUID) -> HttpResponse:
        record = _record(decision_id)
        try:
            lifetime = Lifetime(request.POST.get("lifetime", Lifetime.HOUR))
        except ValueError:
            messages.error(request, _("An exemption lasts an hour, a day, 30 days, or has no end."))
            return self._page(request, record, again=True, status=HTTPStatus.BAD_REQUEST)
        try:
            key, caller = request.POST.get("offer", ""), caller_of(request)
            today = decide_again(record)
            exemptions.apply(record, today, key, lifetime, actor=str(request.user), caller=caller)
        except (Refusal, ValidationError) as error:
            messages.error(request, " ".join(messages_of(error)))
            return self._page(request, record, again=True, status=HTTPStatus.CONFLICT)
        messages.success(request, _("The exemption is added. Below is what the gate answers now."))
        return redirect(reverse("console:explain-receipt", args=[decision_id]) + "?again=1")

    def _page(
        self,
        request: HttpRequest,
        record: AccessRecord,
        *,
        again: bool,
        as_of: AsOf | None = None,
        status: HTTPStatus = HTTPStatus.OK,
    ) -> HttpResponse:
        today = decide_again(record)
        shown = decide_again(record, as_of) if as_of else today
        then = {"status": record.status, "outcome": record.outcome, "reason": record.reason}
        grant = grant_of(record.reason, record.decided_by, record.subject)
        return self.render(
            request,
            status,
            record=record,
            subject=row_shown(record.subject),
            decision=decision_shown({**then, "decided_by": record.decided_by, "grant": grant}),
            steps=steps_shown(trace(record)),
            again=_again(shown) if again else None,
            as_of=as_of.policy.version.revision if as_of else None,
            unknown=as_of.unknown if as_of else (),
            scope=scope_shown(shown["scope"], record.subject, record.host or "?"),
            passes_today=bool(today["decision"]) and today["decision"]["outcome"] == Effect.ALLOW,
            offers=exemptions.offers(record, today),
            lifetimes=LIFETIMES.items(),
            revision=today["policy_revision"],
        )


def _again(today: dict[str, Any]) -> dict[str, Any]:
    missing = today["undecidable"]
    return {
        "decision": decision_shown(today["decision"]),
        "same": today["same"],
        "missing": MISSING[missing] if missing else None,
        "assumed": [ASSUMED[each] for each in today["assumed"]],
        "steps": steps_shown(today["trace"]),
        "access": access_shown(today["access"]),
    }


def _record(decision_id: uuid.UUID) -> AccessRecord:
    row = selectors.answer(decision_id)
    if row is None:
        raise Http404
    return record_of_row(row)


def _as_sent(values: dict[str, str]) -> dict[str, Any]:
    """Return the form's values as a body of the API."""
    sent: dict[str, Any] = {name: values[name].strip() for name in _FIELDS if values[name].strip()}
    headers: dict[str, list[str]] = {}
    for line in values["headers"].splitlines()[: _MAX_LINES + 1]:
        if line.strip():
            name, _colon, value = line.partition(":")
            headers.setdefault(name.strip(), []).append(value.strip())
    if revision := values["revision"].strip():
        is_number = revision.isascii() and revision.isdigit() and len(revision) <= _MAX_DIGITS
        sent["revision"] = int(revision) if is_number else revision
    if headers:
        sent["headers"] = headers
    if values["kind"]:
        sent["credential"] = {"kind": values["kind"], "name": values["name"]}
        if values["kind"] == "user" and values["amr"] == "otp":
            sent["credential"]["amr"] = ["pwd", "otp"]
    return sent


def _errors(errors: Any, name: str = "") -> list[tuple[str, str]]:
    if isinstance(errors, dict):
        return [found for key, inner in errors.items() for found in _errors(inner, name or str(key))]
    if isinstance(errors, list):
        return [found for inner in errors for found in _errors(inner, name)]
    return [(name, str(errors))]
