"""Reject cross-site writes (CSRF) by Fetch Metadata and Origin (docs/api.md), without tokens or state."""

from django.http import HttpRequest
from rest_framework.request import Request

from gatewall.api.own_origins import public_urls
from gatewall.kernel.refusals import Forbidden

_OWN_FETCH_SITES = frozenset({"same-origin", "none"})
_FROM_ANOTHER_SITE = "this request was sent by another site"
_NOT_AT_OUR_URL = (
    "this request was sent by a page that is not at %(urls)s: open the page there, because with GATEWALL_PUBLIC_URL "
    "Gatewall accepts writes of browsers from no other address"
)


class CrossSite(Forbidden):
    """The request was sent by another site."""

    code = "cross-site"


def refuse_cross_site(request: HttpRequest | Request, *, from_protected_sites: bool = False) -> None:
    """Raise CrossSite unless the request is same-origin or does not come from a browser.

    ``Sec-Fetch-Site``, which scripts cannot set, takes precedence; ``Origin`` is for older browsers. With a public URL,
    our paths under the host of a protected site have the site's origin; its scripts may use them only with
    ``from_protected_sites``.
    """
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        if site not in _OWN_FETCH_SITES:
            raise CrossSite(_FROM_ANOTHER_SITE)
        if _is_protected_site(site, request) and not from_protected_sites:
            raise CrossSite(_NOT_AT_OUR_URL, urls=", ".join(public_urls()))
        return
    origin = request.headers.get("Origin")
    if origin is None or _is_own_origin(origin, request):
        return
    if not (from_protected_sites and _is_of_host(origin, request)):
        raise CrossSite(_FROM_ANOTHER_SITE)


def _is_protected_site(site: str, request: HttpRequest | Request) -> bool:
    """Return whether a same-origin request comes from another host than our own."""
    return bool(public_urls() and site == "same-origin" and request.headers.get("Origin") not in public_urls())


def _is_own_origin(origin: str, request: HttpRequest | Request) -> bool:
    if urls := public_urls():
        return origin in urls
    return _is_of_host(origin, request)


def _is_of_host(origin: str, request: HttpRequest | Request) -> bool:
    host = request.get_host()
    return origin in {f"http://{host}", f"https://{host}"}
