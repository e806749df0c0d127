"""Client address and session cookie of a browser at sign-in."""

from datetime import datetime

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from accounts import known_browsers, remembered_cookie
from accounts.authentication import COOKIE_NAME
from accounts.visitor import Visitor
from gatewall.engine.addresses import parse_address
from gatewall.engine.hosts import Authority
from gatewall.kernel.clientip import client_of_environ
from gatewall.policy import system_settings
from policies import cookie_reach

_LOOPBACK_NAMES = frozenset({"localhost", "[::1]"})
_PROXY_HEADERS = frozenset({"HTTP_FORWARDED", "HTTP_VIA", "HTTP_X_REAL_IP"})


def visitor(request: HttpRequest | Request) -> Visitor:
    """Return the visitor of a sign-in: client address, user agent, and the devices known from cookies."""
    address = client_of_environ(request.META, settings.GATEWALL_TRUSTED_PROXIES)
    user_agent = request.headers.get("User-Agent", "")
    return Visitor(
        str(address),
        user_agent,
        is_at_this_machine=is_at_this_machine(request),
        known_browser_of=known_browsers.users_of(request),
        remembered=remembered_cookie.held_by(request),
    )


def origin(request: HttpRequest | Request) -> str:
    """Return the origin at which a browser reaches our pages: the public URL, or else the origin of the request.

    Show it only to the caller: a stranger can choose the ``Host`` of a request.
    """
    scheme = "https" if must_be_secure(request) else "http"
    return settings.GATEWALL_PUBLIC_URL or f"{scheme}://{request.get_host()}"


def is_at_this_machine(request: HttpRequest | Request) -> bool:
    """Return whether the caller is on this machine: over loopback, by a loopback name, not through a proxy.

    A local proxy is a loopback peer too, but adds forwarding headers.
    """
    peer = parse_address(str(request.META.get("REMOTE_ADDR", "")))
    through_a_proxy = any(name in _PROXY_HEADERS or name.startswith("HTTP_X_FORWARDED") for name in request.META)
    return peer is not None and peer.is_loopback and not through_a_proxy and is_loopback_name(_host(request))


def _host(request: HttpRequest | Request) -> str:
    return str(request.META.get("HTTP_HOST", ""))


def set_session(response: HttpResponse, request: HttpRequest | Request, token: str, *, expires_at: datetime) -> None:
    """Set the session cookie."""
    response.set_cookie(
        COOKIE_NAME,
        token,
        max_age=max(0, round((expires_at - timezone.now()).total_seconds())),  # works if the browser's clock is wrong
        path="/",
        domain=_cookie_domain(request),
        secure=must_be_secure(request),
        httponly=True,
        samesite="Lax",
    )


def remember(response: HttpResponse, request: HttpRequest | Request, user_id: int) -> None:
    """Set the cookie that identifies the browser at this user's next sign-in."""
    known_browsers.remember(response, request, user_id, secure=must_be_secure(request))


def hold_remembered(response: HttpResponse, request: HttpRequest | Request, user_id: int, secret: str) -> None:
    """Set the cookie with which this user can sign in without the second factor in this browser."""
    days, secure = system_settings.current().remember_device_days, must_be_secure(request)
    remembered_cookie.hold(response, request, user_id, secret, days=days, secure=secure)


def clear_session(response: HttpResponse, request: HttpRequest | Request) -> None:
    """Delete the session cookie; its attributes must match those it was set with."""
    response.delete_cookie(COOKIE_NAME, path="/", domain=_cookie_domain(request), samesite="Lax")


def _cookie_domain(request: HttpRequest | Request) -> str | None:
    return cookie_reach.cookie_domain(host_name(request))


def host_name(request: HttpRequest | Request) -> str:
    """Return the requested host in canonical form, without the port; empty for a malformed one."""
    authority = Authority.parse(_host(request))
    return authority.host.name if authority else ""


def must_be_secure(request: HttpRequest | Request) -> bool:
    """Return whether cookies need ``Secure``: not if the public URL is http:// or, without one, on loopback."""
    if settings.GATEWALL_PUBLIC_URL:
        return not settings.GATEWALL_PUBLIC_URL.startswith("http://")
    return not is_loopback_name(request.get_host())


def is_loopback_name(authority: str) -> bool:
    """Return whether a host is ``localhost`` or a loopback address."""
    parsed = Authority.parse(authority)
    if parsed is None:
        return False
    address = parse_address(parsed.host.name)
    return parsed.host.name in _LOOPBACK_NAMES or (address is not None and address.is_loopback)
