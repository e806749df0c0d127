"""Pages of backtests: queue one, follow its progress, read its result, and save its draft."""

from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from rest_framework import exceptions

from gatewall.api.admin_forms import what_force_does
from gatewall.api.caller import caller_of
from gatewall.console.backtest.blast_radius import radius_of
from gatewall.console.backtest.draft_form import DraftForm
from gatewall.console.backtest.proposal_forms import PROPOSAL_FORMS
from gatewall.console.backtest.proposal_words import in_words
from gatewall.console.backtest.results import (
    REFRESH_SECONDS,
    STATES,
    access_shown,
    gaps_shown,
    has_agent,
    refusal_messages,
    tables_shown,
)
from gatewall.console.site.pages import OperatorPage
from gatewall.kernel.changes import Resource
from gatewall.kernel.refusals import Refusal
from gatewall.whatif.backtest import runs, saving
from gatewall.whatif.backtest.models import Backtest, State

_BAD = HTTPStatus.BAD_REQUEST
_SAVED_AS = {saving.MONITOR: _("monitor"), saving.ENFORCE: _("enforce")}
_SAVED = {saving.MONITOR: _("The draft is saved in monitor mode."), saving.ENFORCE: _("The draft is enforced.")}


class BacktestsPage(OperatorPage):
    """The form of one kind of draft, and the list of backtests."""

    template, title = "console/backtests.html", _("Backtest")
    post_reads = True

    def get(self, request: HttpRequest) -> HttpResponse:
        kind = _kind(request.GET.get("kind", next(iter(PROPOSAL_FORMS))))
        first = {name: request.GET[name] for name in kind.base_fields if name in request.GET}
        return self._page(request, kind(initial=first))

    def post(self, request: HttpRequest) -> HttpResponse:
        """Queue a backtest and redirect to it, or return the form with errors."""
        form = _kind(request.POST.get("kind", ""))(request.POST)
        try:
            proposal_and_window = form.proposal_and_window() if form.is_valid() else None
            if proposal_and_window is not None:
                run = runs.queue(**proposal_and_window, actor=str(request.user), caller=caller_of(request))
                return redirect("console:backtest", run.pk)
        except (Refusal, ValidationError) as error:
            form.refuse(error)
            return self._page(request, form, HTTPStatus.CONFLICT if isinstance(error, Refusal) else _BAD)
        except exceptions.ValidationError as error:
            form.refuse(ValidationError(refusal_messages(error)))
        return self._page(request, form, _BAD)

    def _page(self, request: HttpRequest, form: DraftForm, status: HTTPStatus = HTTPStatus.OK) -> HttpResponse:
        chosen = next(name for name, each in PROPOSAL_FORMS.items() if type(form) is each)
        kinds = [
            {"resource": name, "title": each.title, "chosen": name == chosen} for name, each in PROPOSAL_FORMS.items()
        ]
        queued = [_context(run) for run in Backtest.objects.filter(digest="").defer("result")]
        return self.render(request, status, form=form, kind=chosen, kinds=kinds, runs=queued)


class BacktestPage(OperatorPage):
    """One backtest: its progress or its result."""

    template, title = "console/backtest.html", _("Backtest")

    def get(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Return the page; it reloads itself until the backtest is finished, unless ``refresh=off``."""
        run = _backtest(pk)
        is_open = run.state in {State.QUEUED, State.RUNNING}
        refreshes = is_open and request.GET.get("refresh") != "off"
        response = self._page(request, run, is_open=is_open, refreshes=refreshes)
        if refreshes:
            response["Refresh"] = str(REFRESH_SECONDS)
        return response

    def post(self, request: HttpRequest, pk: int) -> HttpResponse:
        run, how = _backtest(pk), request.POST.get("do", "")
        if how == "delete":
            runs.delete(run)
            messages.success(request, gettext("The backtest is deleted."))
            return redirect("console:backtests")
        if how not in _SAVED:
            raise Http404
        force = request.POST.get("force") == "on"
        try:
            saving.save(run, how, actor=str(request.user), caller=caller_of(request), force=force)
        except (Refusal, ValidationError, exceptions.ValidationError) as error:
            status = HTTPStatus.CONFLICT if isinstance(error, Refusal) else _BAD
            overrides = what_force_does(error)
            return self._page(request, run, status, refused=refusal_messages(error), overrides=overrides, is_open=False)
        messages.success(request, _SAVED[how])
        return redirect("console:backtest", pk)

    def _page(
        self, request: HttpRequest, run: Backtest, status: HTTPStatus = HTTPStatus.OK, **context: Any
    ) -> HttpResponse:
        return self.render(
            request,
            status,
            run=_context(run),
            tables=list(tables_shown(run.result)) if run.result else [],
            access=access_shown(run.result or {}),
            gaps=gaps_shown(run.result) if run.result else {},
            may_monitor=saving.may_monitor(runs.proposal_of(run)),
            has_agent=has_agent(),
            # Not on pages that reload: the search may read many rows.
            **({} if context["is_open"] else _radius(run)),
            **context,
        )


_RADIUS_OF = {Resource.BLOCKLIST.value: ("network", "ip"), Resource.COUNTRIES.value: ("country", "country_code")}


def _kind(name: str) -> type[DraftForm]:
    if name not in PROPOSAL_FORMS:
        raise Http404
    return PROPOSAL_FORMS[name]


def _backtest(pk: int) -> Backtest:
    return get_object_or_404(Backtest, pk=pk, digest="")


def _context(run: Backtest) -> dict[str, Any]:
    return {
        "row": run,
        **in_words(runs.proposal_of(run)),
        "state": STATES[run.state],
        "saved": _SAVED_AS.get((run.saved or {}).get("how", ""), ""),
    }


def _radius(run: Backtest) -> dict[str, Any]:
    """Return the blast radius of a draft that blocks a network or country."""
    parameter, field = _RADIUS_OF.get(run.resource, ("", ""))
    value = run.draft["values"].get(field) if parameter else None
    try:
        return radius_of(**{parameter: str(value)}) if value else {}
    except ValueError:
        return {}
