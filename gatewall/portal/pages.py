"""Shared parts of visitor pages: rendering, forms, and the signed-in visitor."""

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views import View
from django.views.decorators.csrf import csrf_exempt
from rest_framework.exceptions import Throttled

from accounts import browser, login
from accounts.authentication import holders
from accounts.models import User
from accounts.tokens import IssuedToken, SessionToken
from gatewall.api import errors
from gatewall.api.content_policy import content_security_policy
from gatewall.api.cross_site import CrossSite, refuse_cross_site
from gatewall.api.problems import status_of
from gatewall.api.rate import count_call
from gatewall.engine.hosts import DomainTable
from gatewall.engine.model import SECOND_FACTORS
from gatewall.kernel.refusals import Refusal, TooMany
from gatewall.policy import system_settings
from gatewall.portal.refusal_texts import refusal_text
from gatewall.portal.return_url import origin_of, parse_return_url
from policies import policy_source

_FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class Caller:
    """The signed-in visitor and their session token."""

    user: User
    token: SessionToken

    @property
    def has_shown_second_factor(self) -> bool:
        return not SECOND_FACTORS.isdisjoint(self.token["amr"])

    @property
    def signed_in_at(self) -> datetime:
        return datetime.fromtimestamp(self.token["iat"], tz=UTC)


def caller(request: HttpRequest) -> Caller | None:
    """Return the signed-in visitor, or None. Prefers a session with a second factor."""
    found = [Caller(user, token) for user, token in holders(request)]
    return next((each for each in found if each.has_shown_second_factor), found[0] if found else None)


def page(
    request: HttpRequest,
    template: str,
    context: dict[str, Any] | None = None,
    *,
    return_url: str | None = None,
    status: int = 200,
) -> HttpResponse:
    """Render a page; its CSP allows forms to lead to the return URL."""
    shared = {
        "return_url": return_url,
        "site": urlsplit(return_url).netloc if return_url else "",
        "contact": system_settings.current().contact,
        "root": settings.ROOT_PATH,
        "guard": guard_url(return_url),
    }
    response = render(request, f"portal/{template}.html", {**shared, **(context or {})}, status=status)
    # Browsers also apply form-action to redirects after a form.
    targets = [origin_of(return_url)] if return_url else []
    response["Content-Security-Policy"] = content_security_policy(form_targets=targets)
    return response


def return_url_of(request: HttpRequest) -> str | None:
    """Return the return URL of the request (``rd``), or None if it is not safe."""
    return safe_return_url(request, (request.POST if request.method == "POST" else request.GET).get("rd", ""))


def safe_return_url(request: HttpRequest, text: str) -> str | None:
    """Return the URL if redirecting a visitor there is safe, else None."""
    own = urlsplit(settings.GATEWALL_PUBLIC_URL).netloc if settings.GATEWALL_PUBLIC_URL else request.get_host()
    return parse_return_url(text, own_authority=own, domains=DomainTable(policy_source.domains()))


def guard_url(return_url: str | None = None) -> str:
    """Return the URL of the guard page, with the return URL."""
    query = f"?{urlencode({'rd': return_url})}" if return_url else ""
    return f"{settings.GATEWALL_PUBLIC_URL or ''}{settings.ROOT_PATH}/{query}"


def account_url(**query: str) -> str:
    """Return the URL of the account page."""
    return f"{settings.ROOT_PATH}/account{'?' if query else ''}{urlencode(query)}"


def see_other(url: str) -> HttpResponseRedirect:
    """Return a redirect with status 303, which browsers follow with GET."""
    response = HttpResponseRedirect(url)
    response.status_code = 303
    return response


def enter(request: HttpRequest, token: IssuedToken, return_url: str | None) -> HttpResponse:
    """Set the session cookie and redirect to the return URL."""
    response = see_other(return_url or f"{settings.ROOT_PATH}/")
    browser.set_session(response, request, token.text, expires_at=token.expires_at)
    return response


def replace_session(request: HttpRequest, caller: Caller, *, amr: tuple[str, ...]) -> IssuedToken:
    """Replace the caller's session by a new one with the same audiences and these methods. Raises Gone."""
    audiences, at = tuple(sorted(caller.token.audiences)), now()
    visitor, jti = browser.visitor(request), uuid.UUID(caller.token["jti"])
    return login.replace_session(caller.user, jti, audiences=audiences, amr=amr, visitor=visitor, at=at)


@method_decorator(csrf_exempt, name="dispatch")  # refuse_cross_site() protects the forms, without a cookie
class Form(View):
    """Form of a visitor page; refusals are shown by ``again()``."""

    http_method_names = ["get", "head", "post"]
    from_protected_sites = False
    """Whether a protected site may have this form on its own pages."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Redirect a reload of a form's response to the guard page."""
        return see_other(guard_url(return_url_of(request)))

    def post(self, request: HttpRequest) -> HttpResponse:
        if request.content_type != _FORM and request.body:
            return errors.unsupported_media_type(request)
        try:
            count_call(request, None)
            refuse_cross_site(request, from_protected_sites=self.from_protected_sites)
            return self.send(request)
        except Throttled as throttled:
            response = Form.again(self, request, _("Too many requests. Please wait a moment and try again."), 429)
            wait: float | None = throttled.wait  # type: ignore[attr-defined]  # set by DRF, whose stubs leave it out
            response["Retry-After"] = str(int(wait or 0) + 1)
            return response
        except CrossSite as refusal:
            return Form.again(self, request, refusal_text(refusal), 403)
        except ValidationError as error:
            return self.again(request, refusal_text(error), 400)
        except Refusal as refusal:
            response = self.again(request, refusal_text(refusal), status_of(type(refusal)))
            if isinstance(refusal, TooMany):
                response["Retry-After"] = str(refusal.retry_after_seconds)
            return response

    def send(self, request: HttpRequest) -> HttpResponse:
        """Process the form. Raises Refusal, ValidationError."""
        raise NotImplementedError

    def again(self, request: HttpRequest, error: str, status: int) -> HttpResponse:
        """Show the form again with the message of a refusal."""
        return page(request, "message", {"title": _("Refused"), "error": error}, status=status)


class OwnForm(Form):
    """Form for signed-in visitors; redirects others to the guard page."""

    caller: Caller

    def post(self, request: HttpRequest) -> HttpResponse:
        found = caller(request)
        if found is None:
            return see_other(guard_url(return_url_of(request)))
        self.caller = found
        return super().post(request)


def text_of(request: HttpRequest, name: str) -> str | None:
    """Return the text of a form field, or None if it is empty."""
    return request.POST.get(name) or None


def now() -> datetime:
    """Return the current time."""
    return timezone.now()
