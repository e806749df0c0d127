"""Origins of the guard page and of the sites."""

from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest
from rest_framework.request import Request

from gatewall.kernel.cookie_domain import guard_url


def public_urls() -> tuple[str, ...]:
    """Return the addresses of the guard page, the first is home; empty if it is under the host of each site."""
    home = settings.GATEWALL_PUBLIC_URL
    return (home, *settings.GATEWALL_OTHER_PUBLIC_URLS) if home else ()


def site_origin(request: HttpRequest | Request, host: str) -> str:
    """Return the origin of a site: scheme and port of its guard page, or of this request if it is for the site."""
    urls = public_urls()
    if urls:
        parts = urlsplit(guard_url(urls, host))
        return f"{parts.scheme}://{host}" + (f":{parts.port}" if parts.port else "")
    asked = urlsplit(f"{request.scheme}://{request.get_host()}")
    if asked.hostname == host:
        return asked.geturl()
    return f"https://{host}"
