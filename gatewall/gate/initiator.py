"""Did the user make the browser send this request, or a page the user only views? (Fetch Metadata) Pure."""

from gatewall.engine.hosts import Authority, Host
from gatewall.engine.model import AccessRequest

_OTHER_SITES = frozenset({"cross-site", "same-site"})


def was_made_by_a_page(request: AccessRequest) -> bool:
    """True if the browser says that another site's page, or a tag of a page of this one, caused the request.

    ``Sec-Fetch-Site`` counts alone where it was sent: ``cross-site`` and ``same-site`` whatever the mode, because a
    page can also navigate without a click, and ``same-origin`` for what a tag loads (``no-cors``), because visitors
    write pages too. Without it, as on plain http, ``Origin`` and then ``Referer`` of another host.
    """
    site = request.header("sec-fetch-site")
    if site:
        return site in _OTHER_SITES or (site == "same-origin" and request.header("sec-fetch-mode") == "no-cors")
    origin = request.header("origin")
    return origin == "null" or _is_of_another_host(origin or request.header("referer"), request.host)


def _is_of_another_host(url: str, own: Host | None) -> bool:
    """True for a URL of another host, whatever the port, which some proxies do not pass on.

    Anything but a URL was sent by no browser.
    """
    theirs = Authority.of_url(url)
    return own is not None and theirs is not None and theirs.host != own
