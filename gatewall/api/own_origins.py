"""Origins (scheme, host, port) of the guard page, of the sites and of requests."""

from urllib.parse import urlsplit, urlunsplit

from django.conf import settings
from django.http import HttpRequest
from rest_framework.request import Request

from gatewall.kernel.cookie_domain import guard_url


def public_urls() -> tuple[str, ...]:
    """Return the public URLs of the guard page, the main one first; empty if it is under the host of each site."""
    home = settings.GATEWALL_PUBLIC_URL
    return (home, *settings.GATEWALL_OTHER_PUBLIC_URLS) if home else ()


def site_origin(request: HttpRequest | Request, host: str) -> str:
    """Return the origin of a site: scheme and port of its guard page, or of this request if it is for the site."""
    urls = public_urls()
    if urls:
        parts = urlsplit(guard_url(urls, host))
        return f"{parts.scheme}://{host}" + (f":{parts.port}" if parts.port else "")
    asked = urlsplit(requested_origin(request))
    if asked.hostname == host:
        return asked.geturl()
    return f"https://{host}"


def requested_origin(request: HttpRequest | Request) -> str:
    """Return scheme and host under which the caller reached us; the scheme comes from a trusted proxy, if any."""
    is_trusted = settings.GATEWALL_TRUSTED_PROXIES.trusts_peer(str(request.META.get("REMOTE_ADDR") or ""))
    proto = request.META.get("HTTP_X_FORWARDED_PROTO") if is_trusted else None
    scheme = proto if proto in {"http", "https"} else request.scheme
    return f"{scheme}://{request.get_host()}"


def requested_url(request: HttpRequest | Request, tail: str = "") -> str:
    """Return the absolute URL of the request, or of a reference relative to it."""
    parts = urlsplit(request.build_absolute_uri(tail or None))
    return requested_origin(request) + urlunsplit(("", "", *parts[2:]))
