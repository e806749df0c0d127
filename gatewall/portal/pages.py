"""What all visitor pages share: a page, a form that only our own pages send, and who sends it."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views import View
from django.views.decorators.csrf import csrf_exempt

from accounts import browser, login
from accounts.authentication import holders
from accounts.models import User
from accounts.tokens import SessionToken
from gatewall import system_settings
from gatewall.api import errors
from gatewall.api.cross_site import CrossSite, refuse_cross_site
from gatewall.api.response_headers import content_security_policy
from gatewall.engine.hosts import DomainTable
from gatewall.engine.model import SECOND_FACTORS
from gatewall.portal.return_url import origin_of, parse_return_url
from gatewall.refusals import Refusal, TooMany
from policies import policy_source

_FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is signed in, by the session cookie that counts."""

    user: User
    token: SessionToken

    @property
    def has_shown_second_factor(self) -> bool:
        """True if the session was opened with a second factor."""
        return not SECOND_FACTORS.isdisjoint(self.token["amr"])

    @property
    def signed_in_at(self) -> datetime:
        """When the session was opened."""
        return datetime.fromtimestamp(self.token["iat"], tz=UTC)


def callers(request: HttpRequest) -> list[Caller]:
    """Return who the cookies stand for; a session with a second factor comes before one without."""
    found = [Caller(user, token) for user, token in holders(request)]
    return sorted(found, key=lambda caller: not caller.has_shown_second_factor)


def caller(request: HttpRequest) -> Caller | None:
    """Return who is signed in, or None."""
    return next(iter(callers(request)), None)


def page(
    request: HttpRequest,
    template: str,
    context: dict[str, Any] | None = None,
    *,
    return_url: str | None = None,
    status: int = 200,
) -> HttpResponse:
    """Return a page; its forms may lead to the way back as well as to us."""
    shared = {
        "return_url": return_url,
        "site": urlsplit(return_url).netloc if return_url else "",
        "contact": system_settings.current().contact,
        "root": settings.ROOT_PATH,
    }
    response = render(request, f"portal/{template}.html", {**shared, **(context or {})}, status=status)
    # Browsers hold a form's redirect against form-action as well, so the way back must be named.
    targets = [origin_of(return_url)] if return_url else []
    response["Content-Security-Policy"] = content_security_policy(form_targets=targets)
    return response


def return_url_of(request: HttpRequest) -> str | None:
    """Return the way back that the request names (``rd``), if it is safe to go there."""
    text = (request.POST if request.method == "POST" else request.GET).get("rd", "")
    return parse_return_url(text, own_authority=_own_authority(request), domains=DomainTable(policy_source.domains()))


def _own_authority(request: HttpRequest) -> str:
    return urlsplit(settings.GATEWALL_PUBLIC_URL).netloc if settings.GATEWALL_PUBLIC_URL else request.get_host()


def see_other(url: str) -> HttpResponseRedirect:
    """Return a redirect that the browser follows with GET."""
    response = HttpResponseRedirect(url)
    response.status_code = 303
    return response


def enter(request: HttpRequest, result: login.SignedIn, return_url: str | None) -> HttpResponse:
    """Give the browser its session and send it where it wanted to go."""
    response = see_other(return_url or f"{settings.ROOT_PATH}/")
    browser.set_session(response, request, result.token.text, expires_at=result.token.expires_at)
    return response


def in_words(error: Refusal | ValidationError) -> str:
    """Return what a refusal says to a visitor, in his language where we have it."""
    if isinstance(error, TooMany):
        minutes = -(-error.retry_after_seconds // 60)
        words = ngettext(
            "Too many attempts. Please wait a minute.", "Too many attempts. Please wait %(n)d minutes.", minutes
        )
        return words % {"n": minutes}
    if isinstance(error, ValidationError):
        return " ".join(error.messages)
    known = {
        "invalid-credentials": _("The user name or the password is wrong."),
        "invalid-code": _("The code is wrong, or was used already."),
        "invalid-challenge": _("This took too long, or too many tries. Please sign in again."),
        "reauthentication-required": _("Please enter your password."),
        "reauthentication-failed": _("The password or code is wrong."),
        "totp-enabled": _("The second factor is on already."),
        "totp-not-set-up": _("Please begin the set-up again."),
        "admin-exists": _("There is an administrator already."),
        "duplicate": _("There is one of this name already."),
        "too-many-git-tokens": _("You have as many git tokens as anybody may have. Delete one first."),
        "cross-site": _("Another site sent this form. Please start here."),
        "not-found": _("This is not there any more."),
    }
    return known.get(error.code, str(error))


@method_decorator(csrf_exempt, name="dispatch")  # refuse_cross_site() guards the forms, without a cookie of its own
class Form(View):
    """A form of a visitor page. What a service refuses is said on ``again()``, and nothing has changed."""

    http_method_names = ["post"]

    def post(self, request: HttpRequest) -> HttpResponse:
        if request.content_type != _FORM and request.body:
            return errors.unsupported_media_type(request)
        try:
            refuse_cross_site(request)
            return self.send(request)
        except CrossSite as refusal:
            return page(request, "message", {"title": _("Refused"), "error": in_words(refusal)}, status=403)
        except TooMany as refusal:
            response = self.again(request, in_words(refusal), 429)
            response["Retry-After"] = str(refusal.retry_after_seconds)
            return response
        except (Refusal, ValidationError) as refusal:
            return self.again(request, in_words(refusal), 400)

    def send(self, request: HttpRequest) -> HttpResponse:
        """Do what the form asks for. Raises Refusal, ValidationError."""
        raise NotImplementedError

    def again(self, request: HttpRequest, error: str, status: int) -> HttpResponse:
        """Return the page of the form once more, with the words of the refusal."""
        raise NotImplementedError


class OwnForm(Form):
    """A form of whoever is signed in; everybody else is led to the guard page."""

    caller: Caller

    def post(self, request: HttpRequest) -> HttpResponse:
        found = caller(request)
        if found is None:
            return see_other(f"{settings.ROOT_PATH}/")
        self.caller = found
        return super().post(request)


def text_of(request: HttpRequest, name: str) -> str | None:
    """Return what was typed into a field, or None for nothing."""
    return request.POST.get(name) or None


def now() -> datetime:
    """Return the present moment."""
    return timezone.now()
