"""Guard pages: sign in, enter a code, sign out. No JavaScript."""

import uuid
from contextlib import suppress
from http import HTTPStatus

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views import View
from django.views.decorators.csrf import csrf_exempt

from accounts import browser, selectors, services
from accounts.authentication import holders
from accounts.identity_providers import sessions
from accounts.remembered_devices import services as remembered_devices
from accounts.sign_in import challenges, login, methods, passkey, passkey_browser, password
from accounts.sign_in.challenges import Challenged, InvalidChallenge
from accounts.sign_in.login import SignedIn
from accounts.sign_in.relying_party import RelyingParty
from gatewall.api.own_origins import public_urls
from gatewall.engine.auth_methods import PASSWORD
from gatewall.engine.model import Reason
from gatewall.kernel.refusals import Gone
from gatewall.policy import system_settings
from gatewall.portal import hand_off_views, notices, pages, passkey_views, probe_cookies, provider_links, step_up_views
from gatewall.portal.pages import Form, see_other
from gatewall.portal.refusal_texts import refusal_text
from gatewall.portal.return_access import missing_proof


class Guard(Form):
    """Sign in with username and password, for the gate and the visitor's account, but not the API."""

    http_method_names = ["get", "head", "post"]

    def get(self, request: HttpRequest) -> HttpResponse:
        return_url, caller = pages.return_url_of(request), pages.caller(request)
        missing = missing_proof(request, return_url, caller) if return_url and caller else None
        if elsewhere := hand_off_views.elsewhere(request, return_url, caller, missing):
            return elsewhere
        if caller is None:
            return _sign_in(request)
        if missing is Reason.SECOND_FACTOR_REQUIRED:
            return step_up_views.first_page(request, caller, return_url)
        if missing is Reason.PHISHING_RESISTANT_REQUIRED:
            return step_up_views.passkey_page(request, caller, return_url)
        notice = notices.for_signed_in(request, caller, return_url)
        response = pages.page(request, "signed_in", {"user": caller.user, "notice": notice}, return_url=return_url)
        if return_url and not (notice and notice.blocks):
            pages.renew_cookie(response, request, caller)
        return response

    def send(self, request: HttpRequest) -> HttpResponse:
        if probe_cookies.are_cookies_lost(request):
            return self.again(request, _lost_cookies(), 400)
        name, password = request.POST.get("username", ""), request.POST.get("password", "")
        result = login.sign_in(name, password, flow=login.GUARD, visitor=browser.visitor(request), at=pages.now())
        if isinstance(result, Challenged):
            return second_factor_page(request, result.token)
        return pages.enter(request, result.token, pages.return_url_of(request))

    def again(self, request: HttpRequest, error: str, status: int) -> HttpResponse:
        return _sign_in(request, error, status)


class SecondFactor(Form):
    """Complete a sign-in with a second-factor code."""

    def send(self, request: HttpRequest) -> HttpResponse:
        challenge, code = request.POST.get("challenge", ""), request.POST.get("code", "")
        visitor = browser.visitor(request)
        try:
            result = login.finish_sign_in(challenge, code, flow=login.GUARD, visitor=visitor, at=pages.now())
        except InvalidChallenge as refusal:
            return _sign_in(request, refusal_text(refusal), 401)
        return _enter_and_remember(request, result)

    def again(self, request: HttpRequest, error: str, status: int) -> HttpResponse:
        return second_factor_page(request, request.POST.get("challenge", ""), error, status)


class PasskeySignIn(Form):
    """Sign in with a passkey, without a name or as the second factor of a challenge."""

    def send(self, request: HttpRequest) -> HttpResponse:
        if probe_cookies.are_cookies_lost(request):
            return _sign_in(request, _lost_cookies(), 400)
        page, visitor, token = (
            passkey_browser.page_of(request),
            browser.visitor(request),
            request.POST.get("challenge", ""),
        )
        answer, at = passkey_views.answer_of(request), pages.now()
        try:
            result = login.sign_in_with_passkey(answer, token, page, flow=login.GUARD, visitor=visitor, at=at)
        except InvalidChallenge as refusal:
            return _sign_in(request, refusal_text(refusal), 401)
        return _enter_and_remember(request, result)

    def again(self, request: HttpRequest, error: str, status: int) -> HttpResponse:
        challenge = request.POST.get("challenge", "")
        return second_factor_page(request, challenge, error, status) if challenge else _sign_in(request, error, status)


class SignOut(Form):
    """End every session for which the browser sent a cookie."""

    http_method_names = ["post"]
    from_protected_sites = True  # a site may have a sign-out button; its scripts gain nothing

    def send(self, request: HttpRequest) -> HttpResponse:
        held = [token["jti"] for _user, token in holders(request)]
        opened = [row for jti in held if (row := sessions.of_session(jti)) is not None]
        for jti in held:
            services.revoke_session(uuid.UUID(jti), at=pages.now())
        response = _signed_out(request, provider_links.sign_out_link(request, opened[0]) if opened else {})
        browser.clear_session(response, request)
        probe_cookies.forget_sent(response)
        return response


@method_decorator(csrf_exempt, name="dispatch")
class ToTheSlash(View):
    """Redirect to the guard page from its path without the slash and from its origin's root; keeps the return URL."""

    http_method_names = ["get", "head"]
    status = HTTPStatus.PERMANENT_REDIRECT

    def get(self, request: HttpRequest) -> HttpResponse:
        query = request.META.get("QUERY_STRING", "")
        response = see_other(f"{settings.ROOT_PATH}/{'?' if query else ''}{query}")
        response.status_code = self.status
        return response


def _signed_out(request: HttpRequest, elsewhere: dict[str, str]) -> HttpResponse:
    """Return the page after signing out; ``elsewhere``: the provider where the visitor may still be signed in."""
    return_url, urls = pages.return_url_of(request), public_urls()
    origin = request.headers.get("Origin")
    # The form may be on a page of a protected site, whose CSP may forbid a redirect to our host.
    if elsewhere or (urls and origin is not None and origin not in urls):
        return pages.page(request, "message", {"title": _("Signed out"), **elsewhere}, return_url=return_url)
    if return_url is None and origin in urls:
        return see_other(f"{origin}{settings.ROOT_PATH}/")  # not home: the visitor may still be signed in there
    return see_other(pages.guard_url(return_url))


def _sign_in(request: HttpRequest, error: str = "", status: int = 200) -> HttpResponse:
    return_url, party = pages.shown_url(pages.return_url_of(request)), passkey_browser.party_of(request)
    offers = [
        offer
        for offer in methods.offers(provider_links.site_host(request, return_url))
        if party is not None or offer.page != passkey.PAGE
    ]
    words = {
        "error": error,
        "username": request.POST.get("username", "")[:64],
        "message": system_settings.current().guard_message,
        "notice": notices.for_stranger(request, return_url),
        "probe": probe_cookies.FIELD,
        "carried_url": provider_links.carried_url(return_url, sum(1 for offer in offers if offer.key)),
        **_arranged_offers(party, offers),
    }
    response = pages.page(
        request, "guard", words, return_url=return_url, status=status, scripts_call_us=party is not None
    )
    probe_cookies.expect_cookies(response, request)
    return response


def _arranged_offers(party: RelyingParty | None, offers: list[methods.Offer]) -> dict[str, object]:
    """Return the ways to sign in for the page: the password last and collapsed if every user has a passkey here."""
    is_aside = party is not None and selectors.all_have_passkeys(party.id)
    if is_aside:
        offers = sorted(offers, key=lambda offer: offer.page == password.PAGE)
    return {"offers": offers, "aside": password.PAGE if is_aside else "", "is_passkey_first": is_aside}


def _enter_and_remember(request: HttpRequest, result: SignedIn) -> HttpResponse:
    """Complete a sign-in with a second factor, and remember the browser if the visitor has chosen that."""
    response = pages.enter(request, result.token, pages.return_url_of(request))
    if request.POST.get("remember") != "on":
        return response
    with suppress(Gone):  # their sessions have ended in the meantime
        secret = remembered_devices.remember(result.user, visitor=browser.visitor(request), at=pages.now())
        if secret:
            browser.hold_remembered(response, request, result.user.pk, secret)
    return response


def _lost_cookies() -> str:
    return _(
        "Your browser sent no cookie back, so you would not stay signed in. Allow cookies for this page and open it "
        "with https://. If you did, the proxy in front of Gatewall removes the header Cookie or Set-Cookie."
    )


def second_factor_page(
    request: HttpRequest, challenge: str, error: str = "", status: int = 200, *, return_url: str | None = None
) -> HttpResponse:
    """Return the page to enter a second factor; ``return_url`` as for ``page()``, by default that of the request."""
    user, days = None, 0
    with suppress(InvalidChallenge):
        begun = challenges.find(challenge, login.GUARD.name, at=pages.now())
        user = begun.user
        if PASSWORD in challenges.proved(begun):  # a remembered device is recognized after the password alone
            days = system_settings.current().remember_device_days
    asked = passkey_views.proof_fields(request, user, begin="passkey/begin", action="passkey")
    words = {**asked, "challenge": challenge, "error": error, "action": "second-factor", "remember_days": days}
    options = {"status": status, "scripts_call_us": asked["has_passkey"]}
    return pages.page(request, "second_factor", words, return_url=return_url or pages.return_url_of(request), **options)
