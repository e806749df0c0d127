"""Step-up authentication: enter a second-factor code, or set up an authenticator app first."""

from contextlib import suppress

from django.http import HttpRequest, HttpResponse

from accounts import browser, selectors, services
from accounts.sign_in import login, reauthentication, totp, totp_codes
from accounts.sign_in.methods import union
from accounts.sign_in.totp import Setup
from gatewall.engine.auth_methods import APP_CODE
from gatewall.kernel.refusals import Gone
from gatewall.portal import account_views, pages, passkey_views
from gatewall.portal.form_fields import name_of_form
from gatewall.portal.pages import Caller, OwnForm


def first_page(request: HttpRequest, caller: Caller, return_url: str | None) -> HttpResponse:
    """Return the code page or, without a second factor, the page to set one up."""
    if selectors.has_second_factor(caller.user):
        return _code_page(request, caller, return_url)
    return _offer(request, caller, return_url)


def passkey_page(
    request: HttpRequest, caller: Caller, return_url: str | None, error: str = "", status: int = 200
) -> HttpResponse:
    """Return the page that asks for a passkey; for a user without one, it links to the account page to add one."""
    asked = passkey_views.proof_fields(request, caller.user, begin="step-up/passkey/begin", action="step-up/passkey")
    options = {"status": status, "scripts_call_us": asked["has_passkey"]}
    return pages.page(request, "passkey_required", {**asked, "error": error}, return_url=return_url, **options)


class PasskeyStepUp(OwnForm):
    """Use a passkey; replace the session by one with a phishing-resistant method."""

    def send(self, request: HttpRequest) -> HttpResponse:
        proved = passkey_views.prove(request, self.caller, flow="step-up")
        token = pages.replace_session(request, self.caller, amr=union(self.caller.token["amr"], proved))
        return pages.enter(request, token, pages.return_url_of(request))

    def again(self, request: HttpRequest, error: str, status: int) -> HttpResponse:
        return passkey_page(request, self.caller, pages.return_url_of(request), error, status)


class StepUp(OwnForm):
    """Enter a code; replace the session by one with two factors."""

    def send(self, request: HttpRequest) -> HttpResponse:
        code, visitor = request.POST.get("code", ""), browser.visitor(request)
        proved = reauthentication.prove_code(self.caller.user, code, visitor=visitor, at=pages.now())
        if not proved:
            raise login.InvalidCode("the code is wrong, or was used already")
        token = pages.replace_session(request, self.caller, amr=union(self.caller.token["amr"], proved))
        return pages.enter(request, token, pages.return_url_of(request))

    def again(self, request: HttpRequest, error: str, status: int) -> HttpResponse:
        return _code_page(request, self.caller, pages.return_url_of(request), error, status)


class Enrol(OwnForm):
    """Begin the set-up of a first or another authenticator app: create a secret and show it."""

    def send(self, request: HttpRequest) -> HttpResponse:
        user, at, name = self.caller.user, pages.now(), name_of_form(request)
        proved = self.reauthenticate(request)
        response = _setup_page(request, totp.begin_setup(user, name=name, at=at))
        if not proved:
            return response
        token = pages.replace_session(request, self.caller, amr=union(self.caller.token["amr"], proved))
        browser.set_session(response, request, token.text, expires_at=token.expires_at)
        return response

    def again(self, request: HttpRequest, error: str, status: int) -> HttpResponse:
        return _offer(request, self.caller, pages.return_url_of(request), error, status)


class ConfirmEnrolment(OwnForm):
    """Confirm the app with its first code; the session then has two factors.

    Requires a fresh session, so that a stolen one does not reveal an unconfirmed secret.
    """

    def send(self, request: HttpRequest) -> HttpResponse:
        user, at = self.caller.user, pages.now()
        if self.caller.asked_for:
            raise reauthentication.ReauthenticationRequired("begin again, with your password")
        code = request.POST.get("code", "")
        codes = reauthentication.confirm_second_factor(user, code, visitor=browser.visitor(request), at=at)
        response = self._confirmed(request, codes)
        amr = union(self.caller.token["amr"], (APP_CODE,))
        with suppress(Gone):  # if the session ended meanwhile, show the codes anyway
            token = pages.replace_session(request, self.caller, amr=amr)
            if codes:
                services.end_sessions_besides(user, token.jti, at=at)  # opened without the second factor
            browser.set_session(response, request, token.text, expires_at=token.expires_at)
        return response

    def _confirmed(self, request: HttpRequest, codes: list[str]) -> HttpResponse:
        """Return the page of the recovery codes or, after another app, a redirect to the account page."""
        if not codes:
            return pages.see_other(pages.account_url(done="app"))
        words = {"codes": codes, "username": self.caller.user.username}
        return pages.page(request, "recovery_codes", words, return_url=pages.return_url_of(request))

    def again(self, request: HttpRequest, error: str, status: int) -> HttpResponse:
        setup = None if self.caller.asked_for else totp.pending_setup(self.caller.user)
        if setup is not None:
            return _setup_page(request, setup, error, status)
        return _offer(request, self.caller, pages.return_url_of(request), error, status)


def _code_page(
    request: HttpRequest, caller: Caller, return_url: str | None, error: str = "", status: int = 200
) -> HttpResponse:
    asked = passkey_views.proof_fields(request, caller.user, begin="step-up/passkey/begin", action="step-up/passkey")
    words, options = {"action": "step-up", "error": error}, {"status": status, "scripts_call_us": asked["has_passkey"]}
    return pages.page(request, "second_factor", {**asked, **words}, return_url=return_url, **options)


def _offer(
    request: HttpRequest, caller: Caller, return_url: str | None, error: str = "", status: int = 200
) -> HttpResponse:
    if selectors.has_second_factor(caller.user):
        return account_views.overview(request, caller, status, error=error)
    asked = {"ask": caller.asked_for, "error": error, "user": caller.user}
    return pages.page(request, "enrol", asked, return_url=return_url, status=status)


def _setup_page(request: HttpRequest, setup: Setup, error: str = "", status: int = 200) -> HttpResponse:
    words = {
        "qr_code": totp_codes.qr_png(totp_codes.qr_code(setup.otpauth_uri)),
        "secret": " ".join(setup.secret[start : start + 4] for start in range(0, len(setup.secret), 4)),
        "otpauth_uri": setup.otpauth_uri,
        "error": error,
    }
    return pages.page(request, "set_up", words, return_url=pages.return_url_of(request), status=status)
