"""The browser side of passkeys: the page of a request, and the cookie that binds challenges to the browser."""

from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from rest_framework.request import Request

from accounts import browser
from accounts.sign_in.passkey import PasskeyPage
from accounts.sign_in.passkey_challenges import LIFETIME, new_browser_secret
from accounts.sign_in.passkey_refusals import PasskeysUnavailable
from accounts.sign_in.relying_party import RelyingParty, relying_party_of
from gatewall.api.own_origins import public_urls
from gatewall.engine.hosts import Authority, DomainTable
from gatewall.engine.messages import gettext_noop as _
from policies import policy_source

COOKIE = "gatewall.passkey"


def new_page(request: HttpRequest | Request) -> PasskeyPage:
    """Return the page of a request that begins a ceremony; ``bind`` must set its cookie. Raises PasskeysUnavailable."""
    return PasskeyPage(_party(request), new_browser_secret())


def page_of(request: HttpRequest | Request) -> PasskeyPage:
    """Return the page of a request that ends a ceremony. Raises PasskeysUnavailable."""
    return PasskeyPage(_party(request), request.COOKIES.get(COOKIE, ""))


def bind(response: HttpResponse, request: HttpRequest | Request, page: PasskeyPage) -> None:
    """Set the cookie that binds the challenges of this page to the browser."""
    response.set_cookie(
        COOKIE,
        page.browser_secret,
        max_age=int(LIFETIME.total_seconds()),
        path=f"{settings.ROOT_PATH}/",
        secure=browser.must_be_secure(request),
        httponly=True,
        samesite="Strict",
    )


def party_of(request: HttpRequest | Request) -> RelyingParty | None:
    """Return the relying party of our pages for this request, None if they cannot use passkeys.

    With a public URL, a page under the host of a protected site has the origin of that site, which must not use our
    passkeys. Any other host is taken for one that a proxy put in place of the public one.
    """
    text = str(request.META.get("HTTP_HOST", ""))
    authority, urls = Authority.parse(text), public_urls()
    is_ours = not urls or text in {urlsplit(url).netloc for url in urls}
    if not is_ours and authority is not None and DomainTable(policy_source.domains()).match(authority.host):
        return None
    return relying_party_of(text)


def _party(request: HttpRequest | Request) -> RelyingParty:
    party = party_of(request)
    if party is None:
        raise PasskeysUnavailable(_("passkeys need a host name and https://, which this address does not have"))
    return party
