"""Links from visitor pages to identity providers, and back."""

from urllib.parse import quote, urlsplit

from django.core import signing
from django.http import HttpRequest
from django.utils.html import escape

from accounts import browser
from accounts.models import ProviderSession
from gatewall.engine.hosts import Authority
from gatewall.portal import pages
from gatewall.portal.return_url import origin_of

_MOST_CARRIED = 9000
"""Characters of the return URL on a page: in two forms, and in all links to providers."""
SIGN_OUT_SALT = "gatewall.portal.sign-out-at-provider"


def absolute_url(request: HttpRequest) -> str:
    """Return ``own_url()`` with scheme and host, for servers that redirect the browser back to us."""
    own = pages.own_url(request)
    scheme = "https" if browser.must_be_secure(request) else "http"
    return own if "://" in own else f"{scheme}://{request.get_host()}{own}"


def site_host(request: HttpRequest, return_url: str | None) -> str:
    """Return the host that a visitor signs in for: that of the return URL, else the requested one."""
    authority = Authority.parse(urlsplit(return_url).netloc) if return_url else None
    return authority.host.name if authority else browser.host_name(request)


def carried_url(return_url: str | None, number: int) -> str | None:
    """Return the return URL for links to this number of providers: the front page of the site if it is too long.

    A form could contain it once, but browsers apply ``form-action`` to the redirect to the provider.
    """
    if return_url and 2 * len(escape(return_url)) + number * len(quote(return_url, safe="")) > _MOST_CARRIED:
        return f"{origin_of(return_url)}/"
    return return_url


def sign_out_link(request: HttpRequest, row: ProviderSession | None) -> dict[str, str]:
    """Return name and sign-out link of the provider where the visitor may still be signed in, or {}."""
    if row is None or not row.identity.provider.enabled:
        return {}
    provider = row.identity.provider
    query = signing.dumps(str(row.session_id), salt=SIGN_OUT_SALT)
    return {
        "provider": provider.name,
        "there": f"{pages.own_url(request)}oidc/{provider.slug}/sign-out?session={query}",
    }
