"""Notices on the guard page for visitors who cannot continue to a site: what happened, why, and what to do."""

from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit

from django.http import HttpRequest
from django.utils.translation import gettext as _

from accounts import browser
from gatewall.api.translation import translated
from gatewall.portal import pages, probe_cookies
from gatewall.portal.pages import Caller
from policies import cookie_reach, selectors


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence for everyone; a remedy and the page for it, for administrators."""

    text: str
    fix: str = ""
    link: str = ""
    blocks: bool = False
    """Whether the site would send the visitor back at once."""


def for_stranger(request: HttpRequest, return_url: str | None) -> Notice | None:
    """Return the notice above the sign-in form."""
    if probe_cookies.came_back(request, urlsplit(return_url or "").netloc):
        return Notice(
            _(
                "You signed in a moment ago, but the session cookie did not arrive here. The proxy in front of "
                "Gatewall must pass the headers Cookie and Set-Cookie on unchanged."
            )
        )
    return _not_registered(request) if pages.unregistered_site(request) else None


def for_signed_in(request: HttpRequest, caller: Caller, return_url: str | None) -> Notice | None:
    """Return the notice for a visitor who is signed in and was sent here by a site, None if they can continue."""
    is_admin = caller.user.is_admin
    if return_url is None:
        return _without_site(request, is_admin=is_admin)
    site = urlsplit(return_url).netloc
    if reason := cookie_reach.unreached_url(return_url):
        fix = translated(reason.fix)
        text = _("You are signed in here, but %(site)s cannot see it because %(why)s.") % {
            "site": site,
            "why": translated(reason.why),
        }
        return Notice(text, f"{fix[0].upper()}{fix[1:]}" if is_admin else "", blocks=True)
    if not probe_cookies.came_back(request, site):
        return None
    return _came_back(request, return_url, site)


def _came_back(request: HttpRequest, return_url: str, site: str) -> Notice:
    if return_url.startswith("http://") and browser.must_be_secure(request) and not browser.is_loopback_name(site):
        return Notice(
            _(
                "You are signed in here, but %(site)s cannot see it because browsers send the session cookie only over "
                "https://, and the address of the site begins with http://."
            )
            % {"site": site}
        )
    return Notice(
        _(
            "You are signed in here, but %(site)s sent you back. Its proxy must pass the Cookie header on to Gatewall, "
            "and the clocks of all hosts of Gatewall must agree."
        )
        % {"site": site}
    )


def _without_site(request: HttpRequest, *, is_admin: bool) -> Notice | None:
    site = pages.unregistered_site(request)
    if site is not None:
        return _not_registered(request, site.host.name if is_admin else "")
    if is_admin and not selectors.has_site():
        text = _("No site of yours is registered yet, so Gatewall cannot lead visitors back to one after they sign in.")
        return Notice(text, _("Register a site"), f"{pages.own_url(request)}administration")
    return None


def _not_registered(request: HttpRequest, host: str = "") -> Notice:
    text = _("The site that you came from is not registered here, so Gatewall cannot lead you back to it.")
    if not host:
        return Notice(text)
    url = f"{pages.own_url(request)}admin/policies/authorizeddomain/add/?{urlencode({'name': host})}"
    return Notice(text, _("Register %(host)s") % {"host": host}, url)
