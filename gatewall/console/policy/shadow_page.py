"""The page of the shadow policy: set it, see which answers it would change, put it in force or stop it."""

from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from gatewall.api.admin_forms import what_force_does
from gatewall.api.caller import caller_of
from gatewall.api.translation import messages_of
from gatewall.console.policy.apply_form import ApplyForm
from gatewall.console.policy.documents import document_named, faults_shown
from gatewall.console.site import links
from gatewall.console.site.pages import REFRESH_CHOICES, OperatorPage, refresh_labels, refreshed
from gatewall.kernel.refusals import Refusal
from gatewall.policy import revisions
from gatewall.whatif.plans.applying import PolicyMovedOn
from gatewall.whatif.shadow import documents, services
from gatewall.whatif.shadow.differences import Direction, Group, differences_since
from gatewall.whatif.shadow.status import State, status_of
from policies.document.document import DocumentRefused

_STATES = {
    State.WAITING: _("waiting for the agent and the workers"),
    State.ACTIVE: _("evaluated after the answers"),
    State.FAILED: _("failed"),
}
_DIRECTIONS = {
    Direction.REFUSED: _("would have been refused"),
    Direction.LET_IN: _("would have been let in"),
    Direction.OTHER: _("same outcome, another reason"),
}
_TABLES = (
    ("people", _("Users, git tokens and licenses")),
    ("hosts", _("Hosts")),
    ("anonymous", _("Clients without a valid credential")),
)


class ShadowPage(OperatorPage):
    """The shadow policy, its figures, and the requests that it would have answered differently."""

    template, title = "console/shadow.html", _("Shadow policy")

    def get(self, request: HttpRequest) -> HttpResponse:
        """Return the page; it reloads itself every ``?refresh=`` seconds. ``?document=current`` fills in the form."""
        refresh = request.GET.get("refresh", REFRESH_CHOICES[0])
        if refresh not in REFRESH_CHOICES:
            raise Http404
        if "document" in request.GET:
            return self._page(request, document=document_named(request.GET["document"]))
        return refreshed(self._page(request, refresh=refresh), refresh)

    def post(self, request: HttpRequest) -> HttpResponse:
        what = request.POST.get("do", "")
        if what not in {"set", "promote", "stop"}:
            raise Http404
        overrides: str | Promise = ""
        try:
            return getattr(self, f"_{what}")(request)  # type: ignore[no-any-return]  # one of the three methods below
        except PolicyMovedOn:
            refused = gettext("The policy was changed since this page was shown. Look at the differences again.")
        except DocumentRefused as error:
            return self._page(request, HTTPStatus.CONFLICT, errors=faults_shown(error))
        except Refusal as refusal:
            refused, overrides = " ".join(messages_of(refusal)), what_force_does(refusal)
        except ValidationError as error:
            refused = " ".join(messages_of(error))
        form = ApplyForm(request.POST) if what == "promote" else ApplyForm()
        return self._page(request, HTTPStatus.CONFLICT, refused=refused, overrides=overrides, form=form)

    def _set(self, request: HttpRequest) -> HttpResponse:
        percent = request.POST.get("percent", "")
        if not (percent.isascii() and percent.isdigit() and len(percent) < 4 and 1 <= int(percent) <= 100):
            raise ValidationError(gettext("The percentage is a number from 1 to 100."))
        documents.set_document(document=request.POST.get("document", ""), percent=int(percent), actor=str(request.user))
        messages.success(request, gettext("The shadow policy is set. No answer changes."))
        return redirect("console:shadow")

    def _promote(self, request: HttpRequest) -> HttpResponse:
        shown = request.POST.get("revision", "")
        if_revision = int(shown) if shown.isascii() and shown.isdigit() and len(shown) < 19 else 0
        shadow, form = services.current(), ApplyForm(request.POST)
        if shadow is None or str(shadow.key) != request.POST.get("shadow"):
            raise PolicyMovedOn
        if not form.is_valid():
            return self._page(request, HTTPStatus.BAD_REQUEST, form=form)
        actor, caller, conditions = str(request.user), caller_of(request), form.conditions()
        applied = documents.promote(shadow, actor=actor, caller=caller, if_revision=if_revision, conditions=conditions)
        messages.success(request, gettext("The shadow policy is applied."))
        if applied.revision is None:
            return redirect("console:shadow")
        return redirect("console:history-revision", applied.revision.number)

    def _stop(self, request: HttpRequest) -> HttpResponse:
        if services.remove():
            messages.success(request, gettext("The shadow policy is removed."))
        return redirect("console:shadow")

    def _page(self, request: HttpRequest, status: HTTPStatus = HTTPStatus.OK, /, **context: Any) -> HttpResponse:
        shadow = services.current()
        asked = {name: request.POST.get(name, "") for name in ("document", "percent")}
        if shadow is not None:
            state, found = status_of(shadow), differences_since(shadow.created_at)
            tables = [
                {"title": title, "has_who": name != "hosts", "rows": [_shown(group) for group in getattr(found, name)]}
                for name, title in _TABLES
            ]
            context |= {"state": state, "state_label": _STATES[state.state], "found": found, "tables": tables}
            context["log"] = links.log(shadow="differs", start_time=links.moment(shadow.created_at))
        labels = refresh_labels()
        return self.render(
            request,
            status,
            shadow=shadow,
            revision=revisions.current().revision,
            choices=labels.items(),
            **{"refresh": REFRESH_CHOICES[0], "form": ApplyForm()} | asked | context,
        )


def _shown(group: Group) -> dict[str, Any]:
    return {
        "group": group,
        "direction": _DIRECTIONS[group.direction],
        "links": [links.explain(each) for each in group.examples],
    }
