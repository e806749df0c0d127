"""The guard page: sign in and go where you wanted to, without JavaScript."""

import uuid
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views import View
from django.views.decorators.csrf import csrf_exempt

from accounts import browser, login, services
from accounts.authentication import holders
from accounts.tokens import GATE
from gatewall import system_settings
from gatewall.api import errors
from gatewall.api.content_policy import content_security_policy
from gatewall.api.cross_site import CrossSite, refuse_cross_site
from gatewall.engine.hosts import DomainTable
from gatewall.portal.return_url import origin_of, parse_return_url
from policies import policy_source

_FORM = "application/x-www-form-urlencoded"


@method_decorator(csrf_exempt, name="dispatch")  # no cookie is read here; refuse_cross_site() guards the forms
class Guard(View):
    """Sign in with a name and a password; the token opens the gate and the own account, not the API."""

    http_method_names = ["get", "head", "post"]

    def get(self, request: HttpRequest) -> HttpResponse:
        return _page(request, return_url=_return_url(request, request.GET.get("rd", "")))

    def post(self, request: HttpRequest) -> HttpResponse:
        if request.content_type != _FORM:
            return errors.unsupported_media_type(request)
        return_url = _return_url(request, request.POST.get("rd", ""))
        try:
            refuse_cross_site(request)
            result = login.sign_in(
                request.POST.get("username", ""),
                request.POST.get("password", ""),
                audiences=(GATE,),
                visitor=browser.visitor(request),
                at=timezone.now(),
            )
        except login.InvalidCredentials:
            return _page(request, return_url=return_url, error=_("The user name or the password is wrong."), status=401)
        except CrossSite:
            return _page(
                request, return_url=None, error=_("Another site sent this form. Please sign in here."), status=403
            )
        response = HttpResponseRedirect(return_url or f"{settings.ROOT_PATH}/")
        response.status_code = 303  # the browser must fetch the way back with GET
        browser.set_session(response, request, result.token.text, expires_at=result.token.expires_at)
        return response


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


def _page(request: HttpRequest, *, return_url: str | None, error: str = "", status: int = 200) -> HttpResponse:
    system = system_settings.current()
    user = None if error else next((user for user, _token in holders(request)), None)
    context = {
        "return_url": return_url,
        "site": urlsplit(return_url).netloc if return_url else "",
        "error": error,
        "username": request.POST.get("username", "")[:64],
        "message": system.guard_message,
        "contact": system.contact,
        "user": user,
        "root": settings.ROOT_PATH,
    }
    response = render(request, "portal/guard.html", context, status=status)
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
