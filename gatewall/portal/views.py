"""The guard pages: sign in and go where you wanted to, without JavaScript."""

import uuid
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views import View
from django.views.decorators.csrf import csrf_exempt

from accounts import browser, login, services
from accounts.authentication import holders
from accounts.challenges import Challenged, InvalidChallenge
from gatewall import system_settings
from gatewall.api import errors
from gatewall.api.content_policy import content_security_policy
from gatewall.api.cross_site import CrossSite, refuse_cross_site
from gatewall.engine.hosts import DomainTable
from gatewall.portal.return_url import origin_of, parse_return_url
from gatewall.refusals import TooMany
from policies import policy_source

_FORM = "application/x-www-form-urlencoded"


@method_decorator(csrf_exempt, name="dispatch")  # no cookie is read here; refuse_cross_site() guards the forms
class _Form(View):
    """A form that leads to a session, which opens the gate and the own account, not the API."""

    http_method_names = ["post"]

    def post(self, request: HttpRequest) -> HttpResponse:
        if request.content_type != _FORM:
            return errors.unsupported_media_type(request)
        return_url = _return_url(request, request.POST.get("rd", ""))
        try:
            refuse_cross_site(request)
            return self.sign_in(request, return_url)
        except CrossSite:
            words = _("Another site sent this form. Please sign in here.")
            return _page(request, return_url=None, error=words, status=403)
        except TooMany as refusal:
            minutes = -(-refusal.retry_after_seconds // 60)
            words = ngettext(
                "Too many attempts. Please wait a minute.", "Too many attempts. Please wait %(n)d minutes.", minutes
            )
            response = _page(request, return_url=return_url, error=words % {"n": minutes}, status=429)
            response["Retry-After"] = str(refusal.retry_after_seconds)
            return response

    def sign_in(self, request: HttpRequest, return_url: str | None) -> HttpResponse:
        """Return the answer to the form as it was filled in."""
        raise NotImplementedError


class Guard(_Form):
    """Sign in with a name and a password."""

    http_method_names = ["get", "head", "post"]

    def get(self, request: HttpRequest) -> HttpResponse:
        return _page(request, return_url=_return_url(request, request.GET.get("rd", "")))

    def sign_in(self, request: HttpRequest, return_url: str | None) -> HttpResponse:
        name, password = request.POST.get("username", ""), request.POST.get("password", "")
        try:
            result = login.sign_in(
                name, password, flow=login.GUARD, visitor=browser.visitor(request), at=timezone.now()
            )
        except login.InvalidCredentials:
            words = _("The user name or the password is wrong.")
            return _page(request, return_url=return_url, error=words, status=401)
        if isinstance(result, Challenged):
            return _second_factor_page(request, return_url=return_url, challenge=result.token)
        return _enter(request, result, return_url)


class SecondFactor(_Form):
    """Answer the challenge of a right password with a code."""

    def sign_in(self, request: HttpRequest, return_url: str | None) -> HttpResponse:
        challenge, code = request.POST.get("challenge", ""), request.POST.get("code", "")
        try:
            result = login.finish_sign_in(
                challenge, code, flow=login.GUARD, visitor=browser.visitor(request), at=timezone.now()
            )
        except login.InvalidCode:
            words = _("The code is wrong, or was used already.")
            return _second_factor_page(request, return_url=return_url, challenge=challenge, error=words, status=401)
        except InvalidChallenge:
            words = _("This took too long, or too many tries. Please sign in again.")
            return _page(request, return_url=return_url, error=words, status=401)
        return _enter(request, result, return_url)


@method_decorator(csrf_exempt, name="dispatch")
class SignOut(View):
    """End every session that this browser has a cookie of."""

    http_method_names = ["post"]

    def post(self, request: HttpRequest) -> HttpResponse:
        try:
            refuse_cross_site(request)
        except CrossSite:
            return _page(request, return_url=None, error=_("Another site sent this form."), status=403)
        for _user, token in holders(request):
            services.revoke_session(uuid.UUID(token["jti"]), at=timezone.now())
        response = HttpResponseRedirect(f"{settings.ROOT_PATH}/")
        response.status_code = 303
        browser.clear_session(response)
        return response


def _enter(request: HttpRequest, result: login.SignedIn, return_url: str | None) -> HttpResponse:
    response = HttpResponseRedirect(return_url or f"{settings.ROOT_PATH}/")
    response.status_code = 303  # the browser must fetch the way back with GET
    browser.set_session(response, request, result.token.text, expires_at=result.token.expires_at)
    return response


def _page(request: HttpRequest, *, return_url: str | None, error: str = "", status: int = 200) -> HttpResponse:
    user = None if error else next((user for user, _token in holders(request)), None)
    words = {
        "error": error,
        "username": request.POST.get("username", "")[:64],
        "message": system_settings.current().guard_message,
        "user": user,
    }
    return _rendered(request, "portal/guard.html", words, return_url, status)


def _second_factor_page(
    request: HttpRequest, *, return_url: str | None, challenge: str, error: str = "", status: int = 200
) -> HttpResponse:
    return _rendered(request, "portal/second_factor.html", {"challenge": challenge, "error": error}, return_url, status)


def _rendered(
    request: HttpRequest, template: str, words: dict[str, Any], return_url: str | None, status: int
) -> HttpResponse:
    context = {
        "return_url": return_url,
        "site": urlsplit(return_url).netloc if return_url else "",
        "contact": system_settings.current().contact,
        "root": settings.ROOT_PATH,
    }
    response = render(request, template, {**context, **words}, status=status)
    # Browsers hold a form's redirect against form-action as well, so the way back must be named.
    targets = [origin_of(return_url)] if return_url else []
    response["Content-Security-Policy"] = content_security_policy(form_targets=targets)
    return response


def _return_url(request: HttpRequest, text: str) -> str | None:
    own = urlsplit(settings.GATEWALL_PUBLIC_URL).netloc if settings.GATEWALL_PUBLIC_URL else request.get_host()
    return parse_return_url(text, own_authority=own, domains=DomainTable(policy_source.domains()))


class ToTheSlash(View):
    """Lead from the path without its slash to the guard page, with the way back."""

    http_method_names = ["get", "head"]

    def get(self, request: HttpRequest) -> HttpResponse:
        query = request.META.get("QUERY_STRING", "")
        response = HttpResponseRedirect(f"{settings.ROOT_PATH}/{'?' if query else ''}{query}")
        response.status_code = 308
        return response
