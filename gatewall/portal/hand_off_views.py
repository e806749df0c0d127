"""Hand a session from home, the first guard page, to the guard pages of other parent domains.

other guard page    no session: store a secret in a cookie, redirect to home                ``begin``
home                signed in (or after it): create a code, redirect back with it           ``Grant``
other guard page    verify code and secret, set the session cookie, redirect to the site    ``Enter``
"""

from http import HTTPStatus
from urllib.parse import urlencode, urlsplit
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views import View
from django.views.decorators.csrf import csrf_exempt

from accounts import browser
from accounts.sign_in import hand_off
from gatewall.api.own_origins import public_urls
from gatewall.engine.model import Reason
from gatewall.kernel.refusals import Refusal
from gatewall.portal import pages, probe_cookies
from gatewall.portal.refusal_texts import refusal_text
from gatewall.portal.return_access import missing_proof

_SECRET = "gatewall.hand-off"
_SECRET_SECONDS = 600
"""How long a visitor may take to sign in at home."""
_DIGEST_LENGTH = 64


def elsewhere(
    request: HttpRequest, return_url: str | None, caller: pages.Caller | None, missing: Reason | None
) -> HttpResponse | None:
    """Return the redirect to the guard page where this visitor must continue; None if it is this one.

    Visitors sign in, and prove further methods, at home. ``missing``: the proof that the session lacks for the site.
    """
    there = pages.guard_elsewhere(request, return_url)
    if _other_guard(request) is None:  # home, or a host that no public URL names
        return pages.see_other(there) if there and caller and missing is None else None
    if there:
        return pages.see_other(there)
    if caller is None and probe_cookies.came_back(request, _site(return_url)):
        return None  # the browser loses the cookie: the sign-in form explains it
    return begin(request, return_url) if caller is None or missing else None


def begin(request: HttpRequest, return_url: str | None) -> HttpResponse:
    """Redirect to home to get the session of this browser, which keeps a secret in a cookie until it returns."""
    secret = request.COOKIES.get(_SECRET) or hand_off.new_browser_secret()
    fields = {"to": _other_guard(request) or "", "browser": hand_off.digest(secret), "rd": return_url or ""}
    response = pages.see_other(f"{public_urls()[0]}{settings.ROOT_PATH}/hand-off/grant?{urlencode(fields)}")
    response.set_cookie(
        _SECRET,
        secret,
        max_age=_SECRET_SECONDS,
        path=f"{settings.ROOT_PATH}/",
        secure=browser.must_be_secure(request),
        httponly=True,
        samesite="Lax",
    )
    return response


@method_decorator(csrf_exempt, name="dispatch")  # there is no form
class _Step(View):
    """A step of the hand-off, for top-level navigation of a browser only: not for a frame, image or script."""

    http_method_names = ["get"]

    def get(self, request: HttpRequest) -> HttpResponse:
        if request.headers.get("Sec-Fetch-Dest", "document") != "document":
            return _refused(_("Open the site in a window of its own."), HTTPStatus.FORBIDDEN, request)
        return self.go_on(request)

    def go_on(self, request: HttpRequest) -> HttpResponse:
        """Perform the step."""
        raise NotImplementedError


class Grant(_Step):
    """At home: hand the visitor's session to another guard page, after signing in if there is none."""

    def go_on(self, request: HttpRequest) -> HttpResponse:
        guard, secret = request.GET.get("to", ""), request.GET.get("browser", "")
        if guard not in public_urls()[1:] or len(secret) != _DIGEST_LENGTH:
            return _refused(_("This link is not complete."), HTTPStatus.BAD_REQUEST, request)
        return_url = pages.return_url_of(request)
        caller = pages.caller(request)
        if caller is None or (return_url and missing_proof(request, return_url, caller)):
            query = {"rd": return_url or f"{guard}{settings.ROOT_PATH}/"}
            return pages.see_other(f"{settings.ROOT_PATH}/?{urlencode(query)}")
        code = hand_off.begin(UUID(caller.token["jti"]), guard=guard, browser=secret, at=pages.now())
        fields = {"code": code, "rd": return_url or ""}
        return pages.see_other(f"{guard}{settings.ROOT_PATH}/hand-off/enter?{urlencode(fields)}")


class Enter(_Step):
    """At another guard page: set the session cookie of its parent domain, and redirect to the site."""

    def go_on(self, request: HttpRequest) -> HttpResponse:
        return_url, here = pages.return_url_of(request), _other_guard(request)
        if here is None:
            return _refused(_("This link is for another address."), HTTPStatus.BAD_REQUEST, request)
        try:
            token = hand_off.finish(
                request.GET.get("code", ""),
                guard=here,
                browser_secret=request.COOKIES.get(_SECRET, ""),
                visitor=browser.visitor(request),
                at=pages.now(),
            )
        except Refusal as refusal:
            if pages.caller(request) is not None:  # another window was quicker
                return pages.see_other(return_url or f"{settings.ROOT_PATH}/")
            return _refused(refusal_text(refusal), HTTPStatus.BAD_REQUEST, request)
        response = pages.enter(request, token, return_url)
        response.delete_cookie(_SECRET, path=f"{settings.ROOT_PATH}/", samesite="Lax")
        return response


def _refused(text: str, status: HTTPStatus, request: HttpRequest) -> HttpResponse:
    words = {"title": _("Not signed in"), "error": text}
    return pages.page(request, "message", words, return_url=pages.return_url_of(request), status=status)


def _other_guard(request: HttpRequest) -> str | None:
    """Return the public URL of this guard page if it is under another parent domain than home, else None."""
    return next((url for url in public_urls()[1:] if urlsplit(url).netloc == request.get_host()), None)


def _site(return_url: str | None) -> str:
    return urlsplit(return_url or "").netloc
