"""Detect sign-ins that do not last: cookies that never come back, and sites that send a signed-in visitor back."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from accounts import browser

FIELD = "probe"
"""Field of a sign-in form whose page has also set the cookie of ``expect_cookies``."""
_PROBE, _SENT = "gatewall.probe", "gatewall.sent"
_OURS = "-"
_SENT_SECONDS = 20


def expect_cookies(response: HttpResponse, request: HttpRequest) -> None:
    """Set a cookie that the browser must send with the form on this page."""
    _set(response, request, _PROBE, "1", max_age=None)


def are_cookies_lost(request: HttpRequest) -> bool:
    """Return whether the form is from a page that set a cookie, but the browser did not send that cookie."""
    return FIELD in request.POST and _PROBE not in request.COOKIES


def remember_sent(response: HttpResponse, request: HttpRequest, site: str) -> None:
    """Remember for some seconds that a visitor signed in and was redirected to this site, "" for our own page."""
    _set(response, request, _SENT, site or _OURS, max_age=_SENT_SECONDS)


def forget_sent(response: HttpResponse) -> None:
    """Forget that the visitor signed in: they signed out."""
    response.delete_cookie(_SENT, path=f"{settings.ROOT_PATH}/", samesite="Lax")


def came_back(request: HttpRequest, site: str) -> bool:
    """Return whether the visitor was redirected to this site some seconds ago, and has come back."""
    return bool(request.COOKIES.get(_SENT) == (site or _OURS))


def _set(response: HttpResponse, request: HttpRequest, name: str, value: str, *, max_age: int | None) -> None:
    response.set_cookie(
        name,
        value,
        max_age=max_age,
        path=f"{settings.ROOT_PATH}/",
        secure=browser.must_be_secure(request),  # like the session cookie, so that both are lost for the same reasons
        httponly=True,
        samesite="Lax",
    )
