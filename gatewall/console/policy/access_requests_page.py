"""Requests of refused users for access: the list, and the page on which an admin decides one."""

from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from gatewall.api.translation import messages_of
from gatewall.console.site import links
from gatewall.console.site.pages import OperatorPage
from gatewall.kernel.refusals import Refusal
from gatewall.whatif import access_requests
from gatewall.whatif.offers import Lifetime
from gatewall.whatif.person_history import history_of, opened_by
from policies.models import RequestForAccess, RequestState, pending

_LIFETIMES = {
    Lifetime.HOUR.value: _("1 hour"),
    Lifetime.EIGHT_HOURS.value: _("8 hours"),
    Lifetime.WEEK.value: _("7 days"),
}
_DECIDED = 50


class AccessRequests(OperatorPage):
    """The pending requests, the oldest first, and the newest decided ones."""

    template, title = "console/access_requests.html", _("Access requests")

    def get(self, request: HttpRequest) -> HttpResponse:
        waiting = pending()
        decided = RequestForAccess.objects.exclude(pk__in=waiting.values("pk")).select_related("user", "domain")
        return self.render(request, undecided=waiting[:_DECIDED], number=waiting.count(), decided=decided[:_DECIDED])


class AccessRequest(OperatorPage):
    """One request: who asks, their history, and what a grant would open; give access or refuse."""

    template, title = "console/access_request.html", _("Access request")

    def get(self, request: HttpRequest, pk: int) -> HttpResponse:
        return self._page(request, _row(pk))

    def post(self, request: HttpRequest, pk: int) -> HttpResponse:
        row, actor = _row(pk), str(request.user)
        try:
            if request.POST.get("decide") == "refuse":
                access_requests.refuse(row, request.POST.get("answer", "").strip(), actor=actor)
                messages.success(request, gettext("The request is refused."))
            else:
                lifetime = Lifetime(request.POST.get("lifetime", ""))
                access_requests.grant(row, request.POST.get("offer", ""), lifetime, actor=actor)
                messages.success(request, gettext("Access is given."))
        except (Refusal, ValidationError) as error:
            messages.error(request, " ".join(messages_of(error)))
            return self._page(request, _row(pk), HTTPStatus.CONFLICT)
        except ValueError:
            messages.error(request, gettext("Access is given for an hour, 8 hours or 7 days."))
            return self._page(request, row, HTTPStatus.BAD_REQUEST)
        return redirect("console:access-requests")

    def _page(self, request: HttpRequest, row: RequestForAccess, status: HTTPStatus = HTTPStatus.OK) -> HttpResponse:
        now, context = timezone.now(), dict[str, Any]()
        if row.state == RequestState.PENDING:
            record = access_requests.refusal_of(row.user, row.decision_id)
            offers = access_requests.offers(record) if record else []
            context["offers"] = [(offer, opened_by(offer, row.user, now)) for offer in offers]
        return self.render(
            request,
            status,
            row=row,
            history=history_of(row.user, now, besides=row),
            log=links.log(subject_id=row.user.pk, subject_kind="user"),
            lifetimes=_LIFETIMES.items(),
            **context,
        )


def _row(pk: int) -> RequestForAccess:
    row = RequestForAccess.objects.select_related("user", "domain", "grant").filter(pk=pk).first()
    if row is None:
        raise Http404
    return row
