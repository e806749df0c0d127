"""Sign in at an identity provider, come back from it, and sign out there. No JavaScript."""

from http import HTTPStatus
from typing import Any

from django.core import signing
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views import View
from django.views.decorators.csrf import csrf_exempt
from rest_framework.exceptions import Throttled

from accounts import browser
from accounts.identity_providers import selectors, sessions
from accounts.identity_providers.sessions import LogoutTokenUsed
from accounts.openid import code_flow
from accounts.openid.errors import ProviderFailed
from accounts.provider_models import IdentityProvider
from accounts.sign_in import oidc
from accounts.sign_in.challenges import Challenged
from accounts.sign_in.oidc import Outcome, Returned
from gatewall.api.problems import status_of
from gatewall.api.rate import count_call
from gatewall.credentials.sealing import SealBroken
from gatewall.kernel.refusals import Refusal
from gatewall.portal import guard_views, pages, provider_links
from gatewall.portal.pages import see_other
from gatewall.portal.refusal_texts import refusal_text

_COOKIE = "gatewall.provider"
_SIGN_OUT_SECONDS = 600
_LONGEST_TOKEN = 64 * 1024


@method_decorator(csrf_exempt, name="dispatch")  # unsupported methods get 405
class _ProviderPage(View):
    """A page that a visitor opens by a link: rate-limited, and refused with a message."""

    http_method_names = ["get", "head"]

    def get(self, request: HttpRequest, slug: str) -> HttpResponse:
        provider = selectors.enabled_provider(slug)
        try:
            count_call(request, None)
            if provider is None:
                return _refused(request, _("This way to sign in is not offered."), HTTPStatus.NOT_FOUND)
            return self.answer(request, provider)
        except Throttled as throttled:
            response = _refused(request, _("Too many requests. Please wait a moment and try again."), 429)
            wait: float | None = throttled.wait  # type: ignore[attr-defined]  # set by DRF, whose stubs leave it out
            response["Retry-After"] = str(int(wait or 0) + 1)
            return response
        except Refusal as refusal:
            return _refused(request, refusal_text(refusal), status_of(type(refusal)))

    def answer(self, request: HttpRequest, provider: IdentityProvider) -> HttpResponse:
        """Return the response. Raises Refusal."""
        raise NotImplementedError


class Start(_ProviderPage):
    """Redirect a visitor to a provider, and remember the page to return to."""

    def answer(self, request: HttpRequest, provider: IdentityProvider) -> HttpResponse:
        return_url = pages.return_url_of(request)
        if provider not in selectors.offered(provider_links.site_host(request, return_url)):
            return _refused(request, _("This way to sign in is not offered."), HTTPStatus.NOT_FOUND)
        begun = begin(request, provider, return_url=return_url or "")
        return begun.kept(see_other(begun.url), request)


class Callback(_ProviderPage):
    """Handle the redirect back from a provider: sign in, ask for a second factor, or link an identity."""

    def answer(self, request: HttpRequest, provider: IdentityProvider) -> HttpResponse:
        caller = pages.caller(request)
        user, visitor = caller.user if caller else None, browser.visitor(request)
        outcome = oidc.finish(provider, _returned(request), user=user, visitor=visitor, at=pages.now())
        response = _response_to(request, outcome)
        response.delete_cookie(cookie_name(request), path="/", samesite="Lax")
        return response


class SignOutThere(_ProviderPage):
    """Redirect a visitor who signed out here to the provider's sign-out page (RP-initiated logout).

    The link contains the signed id of the session that ended here.
    """

    def answer(self, request: HttpRequest, provider: IdentityProvider) -> HttpResponse:
        home = provider_links.absolute_url(request)
        try:
            jti = signing.loads(
                request.GET.get("session", ""), salt=provider_links.SIGN_OUT_SALT, max_age=_SIGN_OUT_SECONDS
            )
            row = sessions.of_session(jti)
            hint = selectors.id_token_of(row) if row is not None and row.identity.provider_id == provider.pk else ""
            url = code_flow.end_session_url(selectors.settings_of(provider), id_token=hint, return_to=home)
        except (signing.BadSignature, ProviderFailed, SealBroken):
            url = ""
        return see_other(url or home)


@method_decorator(csrf_exempt, name="dispatch")  # called by the provider itself, without a browser
class BackChannelLogout(View):
    """End sessions by a logout token of the provider (OpenID Connect Back-Channel Logout 1.0)."""

    http_method_names = ["post"]

    def post(self, request: HttpRequest, slug: str) -> HttpResponse:
        try:
            count_call(request, None)
        except Throttled:
            return _logout_refused("too many calls", 429)
        provider, text = selectors.enabled_provider(slug), request.POST.get("logout_token", "")
        if provider is None or not 0 < len(text) <= _LONGEST_TOKEN:
            return _logout_refused("there is no such provider, or no logout token")
        client_ip, at = browser.visitor(request).client_ip, pages.now()
        try:
            token = oidc.read_logout_token(provider, text, client_ip=client_ip, at=at)
            sessions.end_by_token(provider, token, at=at)
        except LogoutTokenUsed as refusal:
            return _logout_refused(str(refusal))
        except Refusal:
            return _logout_refused("the logout token is not valid")
        return HttpResponse(status=HTTPStatus.OK)


class BegunPage:
    """A started sign-in: the URL of the provider, and the cookie that binds the sign-in to this browser."""

    def __init__(self, begun: oidc.Begun) -> None:
        self.url, self._secret = begun.url, begun.browser_secret

    def kept(self, response: HttpResponse, request: HttpRequest) -> HttpResponse:
        """Set the cookie on the response and return it."""
        response.set_cookie(
            cookie_name(request),
            self._secret,
            max_age=int(oidc.LIFETIME.total_seconds()),
            path="/",
            secure=browser.must_be_secure(request),
            httponly=True,
            samesite="Lax",  # the browser comes back from another site
        )
        return response


def begin(request: HttpRequest, provider: IdentityProvider, *, return_url: str, user: Any = None) -> BegunPage:
    """Begin a sign-in in this browser; with a user, one that links an identity to them. Raises Refusal."""
    redirect_uri = f"{provider_links.absolute_url(request)}oidc/{provider.slug}/callback"
    begun = oidc.begin(
        provider,
        redirect_uri=redirect_uri,
        return_url=return_url,
        client_ip=browser.visitor(request).client_ip,
        at=pages.now(),
        user=user,
    )
    return BegunPage(begun)


def cookie_name(request: HttpRequest) -> str:
    """Return the name of the cookie: over https one that no other host can set (RFC 6265bis section 4.1.3.2)."""
    return f"__Host-{_COOKIE}" if browser.must_be_secure(request) else _COOKIE


def _returned(request: HttpRequest) -> Returned:
    """Return the response of the provider; a repeated parameter counts as absent."""

    def one(name: str) -> str | None:
        values = request.GET.getlist(name)
        return values[0] if len(values) == 1 else None

    secret = request.COOKIES.get(cookie_name(request), "")
    issuer = one("iss") if "iss" in request.GET else None
    if "iss" in request.GET and issuer is None:
        issuer = ""  # repeated: equal to no issuer
    return Returned(one("state") or "", one("code") or "", one("error") or "", issuer, secret)


def _response_to(request: HttpRequest, outcome: Outcome) -> HttpResponse:
    return_url = pages.safe_return_url(request, outcome.return_url) if outcome.return_url else None
    if outcome.result is None:
        return see_other(pages.account_url(done="identity-linked"))
    if isinstance(outcome.result, Challenged):
        return guard_views.second_factor_page(request, outcome.result.token, return_url=return_url)
    return pages.enter(request, outcome.result.token, return_url)


def _refused(request: HttpRequest, error: str, status: int) -> HttpResponse:
    words = {"title": _("Not signed in"), "error": error}
    return pages.page(request, "message", words, return_url=pages.return_url_of(request), status=status)


def _logout_refused(description: str, status: int = HTTPStatus.BAD_REQUEST) -> HttpResponse:
    return JsonResponse({"error": "invalid_request", "error_description": description}, status=status)
