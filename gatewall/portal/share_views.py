"""Page of a share link, under the host of its site: shows what the link gives access to, and a button to open it.

Mail scanners, previews and prefetches request links, so only the form uses one up. The form sets a cookie that replaces
the link, and redirects, so that the link is no longer in the address bar.
"""

import re
from http import HTTPStatus
from urllib.parse import quote

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from accounts import browser
from gatewall.credentials import guests
from gatewall.gate.credentials import GUEST_COOKIE
from gatewall.portal import pages
from gatewall.portal.pages import Form
from gatewall.portal.refusal_texts import refusal_text
from policies.grants.opening import Guest, ShareLinkOver, find, open_link
from policies.models import ShareLink

_PLAIN_PATH = re.compile(r"[\w/.~!$&'()*+=:@-]*", re.ASCII)
"""Paths that browsers send unchanged."""


class Share(Form):
    """Show what a share link gives access to, and open it."""

    from_protected_sites = True  # the page is under their hosts, and the form signs nobody in

    def get(self, request: HttpRequest) -> HttpResponse:
        try:
            link = find(request.GET.get("token", ""), _guest(request), at=pages.now())
        except ShareLinkOver as refusal:
            return self._over(request, refusal_text(refusal))
        words = {"link": link, "token": request.GET["token"], "host": request.get_host(), "reads": _only_reads(link)}
        return pages.without_referrer(pages.page(request, "share", words))

    def send(self, request: HttpRequest) -> HttpResponse:
        at = pages.now()
        link = open_link(request.POST.get("token", ""), _guest(request), at=at)
        prefix = link.path_prefix or "/"
        response = pages.see_other(quote(prefix))
        response.set_cookie(
            GUEST_COOKIE,
            guests.cookie_for(link.digest, settings.GATEWALL_JWT_KEYS, at.timestamp()),
            max_age=guests.LIFETIME_SECONDS,
            path=prefix if _PLAIN_PATH.fullmatch(prefix) else "/",  # links for different paths keep their cookies
            secure=browser.must_be_secure(request),
            httponly=True,
            samesite="Lax",
        )
        return pages.without_referrer(response)

    def again(self, request: HttpRequest, error: str, status: int) -> HttpResponse:
        return self._over(request, error)

    def _over(self, request: HttpRequest, error: str) -> HttpResponse:
        words = {"title": _("This link does not work"), "error": error}
        return pages.without_referrer(pages.page(request, "message", words, status=HTTPStatus.GONE))


def _guest(request: HttpRequest) -> Guest:
    visitor, at = browser.visitor(request), pages.now().timestamp()
    claims = guests.GuestVerifier(settings.GATEWALL_JWT_KEYS).verify(request.COOKIES.get(GUEST_COOKIE, ""))
    held = frozenset({claims.digest}) if claims is not None and claims.in_force(at) else frozenset[str]()
    return Guest(browser.host_name(request), visitor.client_ip, visitor.user_agent, held)


def _only_reads(link: ShareLink) -> bool:
    return bool(link.methods) and {"GET", "HEAD"}.issuperset(link.methods)
