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
from django.utils.html import escape
from django.utils.translation import gettext as _
from django.views import View
from django.views.decorators.csrf import csrf_exempt
from rest_framework.exceptions import Throttled

from accounts import browser
from accounts.authentication import holders
from accounts.models import User
from accounts.sign_in import login, reauthentication
from accounts.tokens import IssuedToken, SessionToken
from gatewall.api import errors
from gatewall.api.content_policy import content_security_policy
from gatewall.api.cross_site import CrossSite, refuse_cross_site
from gatewall.api.own_origins import public_urls
from gatewall.api.problems import status_of
from gatewall.api.rate import count_call
from gatewall.engine.auth_methods import SECOND_FACTORS
from gatewall.engine.hosts import Authority, DomainTable
from gatewall.kernel.cookie_domain import guard_url as guard_address
from gatewall.kernel.refusals import Refusal, TooMany
from gatewall.policy import system_settings
from gatewall.portal import branding, probe_cookies
from gatewall.portal.refusal_texts import refusal_text
from gatewall.portal.return_url import origin_of, parse_return_url, unregistered_authority
from policies import cookie_reach, policy_source

_FORM = "application/x-www-form-urlencoded"
_MAX_SHOWN = 4096
"""Characters of a return URL in the HTML of a page, which has it up to three times."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The signed-in visitor and their session token."""

    user: User
    token: SessionToken

    @property
    def has_shown_second_factor(self) -> bool:
        return not SECOND_FACTORS.isdisjoint(self.token["amr"])

    @property
    def sign_in(self) -> reauthentication.SignIn:
        """When and how the session was opened."""
        return reauthentication.SignIn(datetime.fromtimestamp(self.token["iat"], tz=UTC), self.token["amr"])

    @property
    def asked_for(self) -> str:
        """The proof that a form must ask for before it changes a way to sign in: ``password``, ``code`` or ""."""
        return reauthentication.asked_for(self.user, self.sign_in, now())


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
    scripts_call_us: bool = False,
) -> HttpResponse:
    """Render a page; its CSP lets forms redirect to the return URL and, with ``scripts_call_us``, scripts call us."""
    return_url = shown_url(return_url)
    row = system_settings.current()
    shared = {
        "return_url": return_url,
        "site": urlsplit(return_url).netloc if return_url else "",
        "contact": row.contact,
        "brand": branding.brand_of(row),
        "root": settings.ROOT_PATH,
        "clock": f"{now():%H:%M}",
        "guard": guard_url(return_url),
        "own": own_url(request),
    }
    response = render(request, f"portal/{template}.html", {**shared, **(context or {})}, status=status)
    # Browsers also apply form-action to redirects after a form, which may pass the guard page of the site.
    targets = [origin_of(url) for url in (return_url, guard_elsewhere(request, return_url)) if url]
    response["Content-Security-Policy"] = content_security_policy(targets, scripts_call_us=scripts_call_us)
    return response


def return_url_of(request: HttpRequest) -> str | None:
    """Return the return URL of the request (``rd``), or None if it is not safe."""
    return safe_return_url(request, _rd(request))


def shown_url(return_url: str | None) -> str | None:
    """Return the return URL for the forms of a page: the front page of the site if too long (& becomes &amp;)."""
    if return_url and len(escape(return_url)) > _MAX_SHOWN:
        return f"{origin_of(return_url)}/"
    return return_url


def _rd(request: HttpRequest) -> str:
    return (request.POST if request.method == "POST" else request.GET).get("rd", "")


def safe_return_url(request: HttpRequest, text: str) -> str | None:
    """Return the URL if redirecting a visitor there is safe, else None."""
    return parse_return_url(text, own=_own_authorities(request), domains=DomainTable(policy_source.domains()))


def unregistered_site(request: HttpRequest) -> Authority | None:
    """Return the site that the request would return to (``rd``) if somebody had registered it, else None."""
    domains = DomainTable(policy_source.domains())
    return unregistered_authority(_rd(request), own=_own_authorities(request), domains=domains)


def _own_authorities(request: HttpRequest) -> frozenset[str]:
    """Return the authorities of the guard pages: those of the public URLs, or else the requested one."""
    return frozenset(urlsplit(url).netloc for url in public_urls()) or frozenset({request.get_host()})


def _home(authority: str) -> str:
    """Return the public URL of the guard page for the sites of a host; empty if it is under each site's host."""
    urls, parsed = public_urls(), Authority.parse(authority)
    return guard_address(urls, parsed.host.name if parsed else "") if urls else ""


def guard_url(return_url: str | None = None) -> str:
    """Return the URL of the guard page for the site of the return URL, with the return URL."""
    query = f"?{urlencode({'rd': return_url})}" if return_url else ""
    return f"{_home(urlsplit(return_url).netloc if return_url else '')}{settings.ROOT_PATH}/{query}"


def own_url(request: HttpRequest) -> str:
    """Return the URL of our own pages for this browser: below a public URL, or else below the requested host.

    A page under the host of a protected site must not ask for a password there: scripts of the site could read it.
    """
    return f"{_home(str(request.META.get('HTTP_HOST', '')))}{settings.ROOT_PATH}/"


def site_of_origin(request: HttpRequest) -> str:
    """Return the protected site whose origin our pages have, empty if they have an origin of their own.

    A wildcard also matches the host of a public URL, where there may be no site.
    """
    authority = Authority.parse(str(request.META.get("HTTP_HOST", "")))
    if authority is None or browser.is_loopback_name(str(authority)):
        return ""
    domain, host = DomainTable(policy_source.domains()).match(authority.host), authority.host.name
    return host if domain and (domain.name == host or not public_urls()) else ""


def guard_elsewhere(request: HttpRequest, return_url: str | None) -> str | None:
    """Return the guard page under the parent domain of the site if the request is for another guard page, else None.

    A proxy may rewrite ``Host``: a request for any other host is not redirected, to avoid redirect loops.
    """
    hosts, here = {urlsplit(url).netloc for url in public_urls()}, request.get_host()
    there = guard_url(return_url)
    return there if return_url and here in hosts and urlsplit(there).netloc != here else None


def account_url(**query: str) -> str:
    """Return the URL of the account page."""
    return f"{settings.ROOT_PATH}/account{'?' if query else ''}{urlencode(query)}"


def see_other(url: str) -> HttpResponseRedirect:
    """Return a redirect with status 303, which browsers follow with GET."""
    response = HttpResponseRedirect(url)
    response.status_code = 303
    return response


def enter(request: HttpRequest, token: IssuedToken, return_url: str | None) -> HttpResponse:
    """Set the cookies of a session, and redirect to the return URL.

    If the session must be handed over, redirect to the guard page of the site's parent domain; if the site cannot
    receive the cookie, to the page that says why.
    """
    if elsewhere := guard_elsewhere(request, return_url):
        response = see_other(elsewhere)
    elif return_url and cookie_reach.unreached_url(return_url):
        response = see_other(f"{settings.ROOT_PATH}/?{urlencode({'rd': return_url})}")
    else:
        response = see_other(return_url or f"{settings.ROOT_PATH}/")
    browser.set_session(response, request, token.text, expires_at=token.expires_at)
    browser.remember(response, request, token.user_id)
    probe_cookies.remember_sent(response, request, urlsplit(return_url or "").netloc)
    return response


def renew_cookie(response: HttpResponse, request: HttpRequest, caller: Caller) -> None:
    """Set the session cookie again: a domain registered since may need a wider cookie domain."""
    expires_at = datetime.fromtimestamp(caller.token["exp"], tz=UTC)
    browser.set_session(response, request, str(caller.token.token), expires_at=expires_at)


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

    def reauthenticate(self, request: HttpRequest) -> tuple[str, ...]:
        """Require a fresh sign-in, or a code or password in the form; return the methods proved. Raises a Refusal."""
        proof, visitor = {each: text_of(request, each) for each in ("password", "code")}, browser.visitor(request)
        return reauthentication.require_fresh(self.caller.user, self.caller.sign_in, **proof, visitor=visitor, at=now())


def text_of(request: HttpRequest, name: str) -> str | None:
    """Return the text of a form field, or None if it is empty."""
    return request.POST.get(name) or None


def now() -> datetime:
    """Return the current time."""
    return timezone.now()


def without_referrer(response: HttpResponse) -> HttpResponse:
    """Keep the URL of the page, which contains a token, out of ``Referer``; forms still send ``Origin``."""
    response["Referrer-Policy"] = "strict-origin"
    return response
