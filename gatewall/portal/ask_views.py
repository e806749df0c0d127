"""Page on which a refused visitor asks for access, and sees the state of the request."""

import uuid
from datetime import timedelta
from urllib.parse import urlencode, urlsplit

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts import browser
from audit.log import selectors
from audit.spool.records import AccessRecord
from gatewall.engine.hosts import Authority
from gatewall.kernel.refusals import Gone
from gatewall.portal import pages
from gatewall.portal.pages import OwnForm, see_other
from gatewall.whatif import access_requests
from policies.models import RequestForAccess, RequestState

_LOG_DELAY = timedelta(minutes=2)
"""Time within which a decision may not be in the log yet."""
_REFRESH = {"coming": "2", RequestState.PENDING.value: "10"}
"""Seconds after which the page loads itself again, without a script."""
_STATES = {
    RequestState.PENDING.value: gettext_lazy("You asked for access. This page will show the answer."),
    RequestState.GRANTED.value: gettext_lazy("You have access."),
    RequestState.REFUSED.value: gettext_lazy("Your request was refused."),
    RequestState.WITHDRAWN.value: gettext_lazy("You took your request back."),
    RequestState.EXPIRED.value: gettext_lazy("Nobody answered your request in time."),
    "ended": gettext_lazy("Your access has ended."),
    "coming": gettext_lazy("One moment, the refusal is being looked up."),
    "unknown": gettext_lazy("No refusal with this id was found for your account."),
    "not-offered": gettext_lazy("Access cannot be given for this."),
}
_MAY_ASK_AGAIN = frozenset({"refused", "withdrawn", "expired", "ended"})


class Ask(OwnForm):
    """Ask for access after a refusal, or take the request back."""

    decision_id: uuid.UUID

    def get(self, request: HttpRequest, decision_id: uuid.UUID) -> HttpResponse:  # type: ignore[override]  # of its URL
        found = pages.caller(request)
        if found is None:
            here = f"{browser.origin(request)}{request.get_full_path()}"
            return see_other(f"{pages.own_url(request)}?{urlencode({'rd': here})}")
        self.caller, self.decision_id = found, decision_id
        return self._shown(request)

    def post(self, request: HttpRequest, decision_id: uuid.UUID) -> HttpResponse:  # type: ignore[override]  # the same
        self.decision_id = decision_id
        return super().post(request)

    def send(self, request: HttpRequest) -> HttpResponse:
        user, record = self.caller.user, access_requests.refusal_of(self.caller.user, self.decision_id)
        if record is None:
            raise Gone("there is no such refusal")
        if request.POST.get("withdraw"):
            asked = access_requests.request_about(user, self.decision_id)
            if asked is None:
                raise Gone("there is no such request")
            access_requests.withdraw(asked)
            return self._back(request, self.decision_id)
        reason = " ".join(request.POST.get("reason", "").split())
        if not reason:
            raise ValidationError(_("Please write why you need access."))
        asked = access_requests.ask(user, record, reason, client_ip=browser.visitor(request).client_ip)
        return self._back(request, asked.decision_id)

    def again(self, request: HttpRequest, error: str, status: int) -> HttpResponse:
        return self._shown(request, error, status)

    def _shown(self, request: HttpRequest, error: str = "", status: int = 200) -> HttpResponse:
        is_logged = selectors.answer(self.decision_id) is not None  # queried first: the row may be added in between
        record = access_requests.refusal_of(self.caller.user, self.decision_id)
        asked = access_requests.request_about(self.caller.user, self.decision_id)
        state, may_ask = self._state(record, asked, is_logged=is_logged)
        words = {
            "error": error,
            "state": state,
            "words": _STATES.get(state, ""),
            "asked": asked,
            "record": record,
            "site": _site(record, pages.return_url_of(request)) if record and state == RequestState.GRANTED else "",
            "may_ask": may_ask,
            "reason": request.POST.get("reason", "")[:500],
            "user": self.caller.user,
        }
        known = 404 if state == "unknown" else status
        response = pages.page(request, "ask", words, return_url=pages.return_url_of(request), status=known)
        if state in _REFRESH and not error:
            response["Refresh"] = _REFRESH[state]
        return response

    def _back(self, request: HttpRequest, decision_id: uuid.UUID) -> HttpResponse:
        """Redirect to the page of a request, with the return URL of this one."""
        return_url = pages.return_url_of(request)
        path = request.path.replace(str(self.decision_id), str(decision_id))
        return see_other(f"{path}?{urlencode({'rd': return_url})}" if return_url else path)

    def _state(
        self, record: AccessRecord | None, asked: RequestForAccess | None, *, is_logged: bool
    ) -> tuple[str, bool]:
        """Return the state of the page, and whether the visitor may ask."""
        if record is None:
            return ("unknown" if is_logged or not self._is_young() else "coming"), False
        state = asked.state if asked else ""
        if state == RequestState.PENDING:
            return state, False
        possible = access_requests.offers(record)
        if asked and state == RequestState.GRANTED:
            is_over = asked.grant is None or asked.grant.expires_at <= pages.now()
            return ("ended", bool(possible)) if is_over else (state, False)
        if not possible:
            return "not-offered", False
        return state, not state or state in _MAY_ASK_AGAIN

    def _is_young(self) -> bool:
        made = selectors.around(self.decision_id)
        if made is None:
            return False
        middle = made[0] + (made[1] - made[0]) / 2
        return abs(pages.now() - middle) < _LOG_DELAY


def _site(record: AccessRecord, return_url: str | None) -> str:
    """Return the refused URL: the return URL, which has the port, if its host was refused, else that of the record."""
    authority = Authority.parse(urlsplit(return_url).netloc) if return_url else None
    if return_url and authority and authority.host.name == record.host:
        return return_url
    return f"{record.scheme}://{record.host}{record.path}"
