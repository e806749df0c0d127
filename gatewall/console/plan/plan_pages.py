"""Pages of plans: make one from a policy document, read it, and apply it."""

from datetime import datetime
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from rest_framework import exceptions

from gatewall.api.admin_forms import what_force_does
from gatewall.api.caller import caller_of
from gatewall.console.backtest.results import REFRESH_SECONDS, has_agent, refusal_messages
from gatewall.console.plan.forms import MAX_BYTES, PlanForm
from gatewall.console.plan.presentation import listed, plan_shown
from gatewall.console.policy.apply_form import ApplyForm
from gatewall.console.policy.documents import document_named, faults_shown
from gatewall.console.site.pages import OperatorPage
from gatewall.kernel.refusals import Overridable, Refusal
from gatewall.whatif.backtest import runs
from gatewall.whatif.backtest.models import Backtest
from gatewall.whatif.backtest.proposals import Proposal, WholeDocument
from gatewall.whatif.plans import applying, planning
from gatewall.whatif.shadow import services as shadow
from policies.document.document import DocumentRefused
from policies.document.export import export

_BAD = HTTPStatus.BAD_REQUEST
_REFUSED = (Refusal, ValidationError, exceptions.ValidationError)


class PlansPage(OperatorPage):
    """The form of a plan, and the list of plans."""

    template, title = "console/plans.html", _("Plan")
    post_reads = True

    def get(self, request: HttpRequest) -> HttpResponse:
        """Return the form; ``?document=current`` or ``=shadow`` fills in that policy's document."""
        text = document_named(request.GET.get("document", ""))
        if len(text.encode()) <= MAX_BYTES:
            return self._page(request, text)
        too_long = gettext("The document is too long for this form: export it, and plan it by gatewall policy plan.")
        return self._page(request, "", refused=[too_long])

    def post(self, request: HttpRequest) -> HttpResponse:
        """Make a plan and redirect to it, or return the form with every error of the document."""
        if "again" in request.POST:
            return self._plan_again(request, _plan(request.POST["again"]))
        form = PlanForm(request.POST, request.FILES)
        kept = {"window": form.data.get("window", ""), "force": "force" in form.data}
        if not form.is_valid():
            refused = [text for texts in form.errors.values() for text in texts]
            return self._page(request, form.data.get("document", ""), _BAD, refused=refused, **kept)
        start, end = form.window_until_now()
        try:
            return self._plan(request, form.proposal(), start, end)
        except DocumentRefused as error:
            return self._page(request, form.text(), _BAD, errors=faults_shown(error), **kept)
        except _REFUSED as error:
            return self._refused(request, form.text(), error, **kept)

    def _plan_again(self, request: HttpRequest, row: Backtest) -> HttpResponse:
        proposal, end = runs.proposal_of(row), timezone.now()
        try:
            return self._plan(request, proposal, end - (row.end_time - row.start_time), end)
        except _REFUSED as error:
            return self._refused(request, proposal.text if isinstance(proposal, WholeDocument) else "", error)

    def _plan(self, request: HttpRequest, proposal: Proposal, start: datetime, end: datetime) -> HttpResponse:
        row = planning.plan(proposal, start=start, end=end, actor=str(request.user), caller=caller_of(request))
        return redirect("console:plan", row.pk)

    def _refused(
        self,
        request: HttpRequest,
        text: str,
        error: Refusal | ValidationError | exceptions.ValidationError,
        **context: Any,
    ) -> HttpResponse:
        status = HTTPStatus.CONFLICT if isinstance(error, Refusal) else _BAD
        may_force = isinstance(error, Overridable)
        return self._page(request, text, status, refused=refusal_messages(error), may_force=may_force, **context)

    def _page(
        self, request: HttpRequest, text: str, status: HTTPStatus = HTTPStatus.OK, **context: Any
    ) -> HttpResponse:
        form = PlanForm(initial={"window": context.pop("window", "")} if context.get("window") else None)
        plans = [listed(row) for row in Backtest.objects.exclude(digest="").defer("result")]
        has_shadow = shadow.current() is not None
        return self.render(request, status, form=form, document=text, plans=plans, has_shadow=has_shadow, **context)


class PlanPage(OperatorPage):
    """One plan: its changes, the people that it would refuse or let in, and the form that applies it."""

    template, title = "console/plan.html", _("Plan")

    def get(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Return the page; it reloads itself until the replay is finished, unless ``refresh=off``."""
        return self._page(request, _plan(str(pk)), ApplyForm())

    def post(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Apply or delete the plan."""
        row, what = _plan(str(pk)), request.POST.get("do", "")
        if what == "delete":
            runs.delete(row)
            messages.success(request, gettext("The plan is deleted."))
            return redirect("console:plans")
        if what != "apply":
            raise Http404
        form = ApplyForm(request.POST)
        if not form.is_valid():
            return self._page(request, row, form, _BAD)
        try:
            applied = applying.apply_plan(
                row.digest, actor=str(request.user), caller=caller_of(request), conditions=form.conditions()
            )
        except applying.PolicyMovedOn:
            return self._page(request, row, form, HTTPStatus.CONFLICT)
        except _REFUSED as error:
            status = HTTPStatus.CONFLICT if isinstance(error, Refusal) else _BAD
            refused, overrides = refusal_messages(error), what_force_does(error)
            return self._page(request, row, form, status, refused=refused, overrides=overrides)
        made = applied.revision is not None
        messages.success(request, gettext("The plan is applied.") if made else gettext("There was nothing to change."))
        return redirect("console:plan", pk)

    def _page(
        self, request: HttpRequest, row: Backtest, form: ApplyForm, status: HTTPStatus = HTTPStatus.OK, **context: Any
    ) -> HttpResponse:
        may_apply = bool(getattr(request.user, "is_staff", False))
        shown = plan_shown(row, with_secrets=may_apply)
        refreshes = shown["is_open"] and request.method == "GET" and request.GET.get("refresh") != "off"
        response = self.render(
            request,
            status,
            **shown,
            form=form,
            refreshes=refreshes,
            may_apply=may_apply,
            has_agent=has_agent(),
            **context,
        )
        if refreshes:
            response["Refresh"] = str(REFRESH_SECONDS)
        return response


class ExportPage(OperatorPage):
    """The policy in force as a document, to save as a file."""

    title = _("Export")
    http_method_names = ["get", "head"]

    def get(self, request: HttpRequest) -> HttpResponse:
        headers = {"Content-Disposition": 'attachment; filename="policy.yaml"'}
        return HttpResponse(export().canonical(), content_type="application/yaml", headers=headers)


def _plan(number: str) -> Backtest:
    if not (number.isascii() and number.isdigit() and len(number) < 20):
        raise Http404
    return get_object_or_404(Backtest.objects.exclude(digest=""), pk=int(number))
