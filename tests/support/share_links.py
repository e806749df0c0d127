"""Guests with the cookie of a share link."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone

from gatewall.credentials.guests import cookie_for
from policies.grants.share_links import issue_share_link
from policies.models import AuthorizedDomain, ShareLink
from tests.support.cast import OFFICE


class GuestOf:
    """Ask the gate with the cookie of a link, as a browser that opened it."""

    def __init__(self, auth: Any, cookie: str) -> None:
        self._auth, self.cookie = auth, cookie

    def __call__(self, uri: str = "/", **headers: str) -> tuple[int, str]:
        shown = {"x_forwarded_host": OFFICE, "x_forwarded_method": "GET", **headers}
        verdict: tuple[int, str] = self._auth(cookie=self.cookie, x_forwarded_uri=uri, **shown).verdict
        return verdict


def a_guest_of(auth: Any, link: ShareLink) -> GuestOf:
    """Return a guest whose browser opened the link."""
    return GuestOf(auth, cookie_of(link))


def cookie_of(link: ShareLink) -> str:
    """Return the Cookie header of a browser that opened the link."""
    return f"service.guest={cookie_for(link.digest, settings.GATEWALL_JWT_KEYS, timezone.now().timestamp())}"


def a_share_link(domain: AuthorizedDomain, **values: Any) -> ShareLink:
    """Make a link of the domain for four hours."""
    values = {"name": "Anna", "expires_at": timezone.now() + timedelta(hours=4), **values}
    return issue_share_link(actor="alice", domain=domain, **values)[0]
