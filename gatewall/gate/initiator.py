"""Fetch Metadata: did the user cause this request, or a web page without their doing? Pure."""

from gatewall.engine.hosts import Authority, Host
from gatewall.engine.model import AccessRequest

_OTHER_SITES = frozenset({"cross-site", "same-site"})


def was_made_by_a_page(request: AccessRequest) -> bool:
    """True if another site's page, or a tag of a page of this site, caused the request.

    ``Sec-Fetch-Site`` decides alone where it was sent: ``cross-site`` and ``same-site`` in any mode, because a page
    can navigate without a click, and ``same-origin`` with ``no-cors`` (tags), because visitors write pages too.
    Without it, as on plain http: ``Origin``, then ``Referer``, of another host.
    """
    site = request.header("sec-fetch-site")
    if site:
        return site in _OTHER_SITES or (site == "same-origin" and request.header("sec-fetch-mode") == "no-cors")
    origin = request.header("origin")
    return origin == "null" or _is_of_another_host(origin or request.header("referer"), request.host)


def _is_of_another_host(url: str, own: Host | None) -> bool:
    """True for a URL of another host. Ports are ignored: some proxies do not pass them on."""
    theirs = Authority.of_url(url)
    return own is not None and theirs is not None and theirs.host != own
