"""A second factor for a session that has none: give a code, or set an authenticator app up first."""

import uuid
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from accounts import browser, login, reauthentication, second_factor, selectors, services, throttling, totp
from gatewall.engine.hosts import Access, Authority, DomainTable
from gatewall.portal import pages
from gatewall.portal.pages import Caller, OwnForm
from gatewall.portal.return_url import origin_of
from policies import policy_source


def is_wanted(return_url: str, caller: Caller) -> bool:
    """True if the site that the visitor comes from asks for a second factor that the session has not shown."""
    authority = Authority.parse(origin_of(return_url).partition("://")[2])
    domain = DomainTable(policy_source.domains()).match(authority.host) if authority else None
    return domain is not None and domain.access is Access.TWO_FACTOR and not caller.has_shown_second_factor


def first_page(request: HttpRequest, caller: Caller, return_url: str | None) -> HttpResponse:
    """Return the page that asks for a code or, where there is no second factor yet, leads to one."""
    if selectors.has_second_factor(caller.user):
        return _code_page(request, return_url)
    return _offer(request, caller, return_url)


class StepUp(OwnForm):
    """Give a code; the session is replaced by one with two factors."""

    def send(self, request: HttpRequest) -> HttpResponse:
        visitor, at = browser.visitor(request), pages.now()
        attempt = throttling.attempt(self.caller.user.username, visitor.client_ip, at)
        method = second_factor.use_code(self.caller.user, request.POST.get("code", ""), at=at)
        if method is None:
            return _code_page(request, pages.return_url_of(request), _("The code is wrong, or was used already."), 401)
        attempt.succeeded()
        return pages.enter(request, _replaced(request, self.caller, method), pages.return_url_of(request))

    def again(self, request: HttpRequest, error: str, status: int) -> HttpResponse:
        return _code_page(request, pages.return_url_of(request), error, status)


class Enrol(OwnForm):
    """Begin to set an authenticator app up: make a secret and show it."""

    def send(self, request: HttpRequest) -> HttpResponse:
        at = pages.now()
        if not reauthentication.is_fresh(self.caller.signed_in_at, at):
            password = pages.text_of(request, "password")
            reauthentication.require_password(self.caller.user, password, visitor=browser.visitor(request), at=at)
        second_factor.begin_setup(self.caller.user, at=at)
        return _setup_page(request, self.caller)

    def again(self, request: HttpRequest, error: str, status: int) -> HttpResponse:
        return _offer(request, self.caller, pages.return_url_of(request), error, status)


class ConfirmEnrolment(OwnForm):
    """Confirm the app with its first code; the session has two factors from then on."""

    def send(self, request: HttpRequest) -> HttpResponse:
        codes = second_factor.confirm_setup(self.caller.user, request.POST.get("code", ""), at=pages.now())
        result = _replaced(request, self.caller, second_factor.TOTP_METHOD)
        words = {"codes": codes, "username": self.caller.user.username}
        response = pages.page(request, "recovery_codes", words, return_url=pages.return_url_of(request))
        browser.set_session(response, request, result.token.text, expires_at=result.token.expires_at)
        return response

    def again(self, request: HttpRequest, error: str, status: int) -> HttpResponse:
        return _setup_page(request, self.caller, error, status)


def _replaced(request: HttpRequest, caller: Caller, method: str) -> login.SignedIn:
    """Open a session with the second factor in place of the caller's, which ends."""
    amr, at = (login.PASSWORD_METHOD, method), pages.now()
    audiences = tuple(sorted(caller.token.audiences))
    token = login.start_session(caller.user, audiences=audiences, amr=amr, visitor=browser.visitor(request), at=at)
    services.revoke_session(uuid.UUID(caller.token["jti"]), at=at)
    return login.SignedIn(caller.user, token, amr)


def _code_page(request: HttpRequest, return_url: str | None, error: str = "", status: int = 200) -> HttpResponse:
    words = {"action": "step-up", "error": error}
    return pages.page(request, "second_factor", words, return_url=return_url, status=status)


def _offer(
    request: HttpRequest, caller: Caller, return_url: str | None, error: str = "", status: int = 200
) -> HttpResponse:
    fresh = reauthentication.is_fresh(caller.signed_in_at, pages.now())
    words = {"ask_password": not fresh, "error": error, "username": caller.user.username}
    return pages.page(request, "enrol", words, return_url=return_url, status=status)


def _setup_page(request: HttpRequest, caller: Caller, error: str = "", status: int = 200) -> HttpResponse:
    return_url = pages.return_url_of(request)
    setup = second_factor.pending_setup(caller.user)
    if setup is None:
        return _offer(request, caller, return_url, error, status)
    words: dict[str, Any] = {
        "qr_code": totp.qr_png(setup.otpauth_uri),
        "secret": " ".join(setup.secret[start : start + 4] for start in range(0, len(setup.secret), 4)),
        "otpauth_uri": setup.otpauth_uri,
        "error": error,
        "root": settings.ROOT_PATH,
    }
    return pages.page(request, "set_up", words, return_url=return_url, status=status)
