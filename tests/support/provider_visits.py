"""Visits to an OpenID Connect provider by a browser without JavaScript, in this process."""

import re
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.http import HttpResponse

from audit.models import SecurityEvent
from tests.support.openid_provider import OpenIdProvider
from tests.support.visitor import Visitor

COOKIE = "__Host-gatewall.provider"


def leave(visitor: Visitor, rd: str = "") -> str:
    """Open the link of the guard page and return where it leads."""
    answer = visitor.get("/oidc/corp", {"rd": rd} if rd else {})
    assert answer.status_code == 303, answer.text
    return str(answer.headers["Location"])


def answer_of(url: str) -> dict[str, str]:
    """Return the query parameters of a URL."""
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


def come_back(visitor: Visitor, url: str) -> HttpResponse:
    """Follow the provider's redirect to the callback."""
    parts = urlsplit(url)
    assert (parts.scheme, parts.netloc, parts.path) == ("https", "wall.example", "/wall/oidc/corp/callback")
    return visitor.get("/oidc/corp/callback", answer_of(url))


def sign_in(visitor: Visitor, provider: OpenIdProvider, rd: str = "") -> HttpResponse:
    """Sign in at the provider and return the response to the way back."""
    return come_back(visitor, provider.authorize(leave(visitor, rd)))


def whys(kind: str) -> list[Any]:
    """Return the reasons in the events of a kind."""
    return [row.detail["why"] for row in SecurityEvent.objects.filter(kind=kind).order_by("pk")]


def link(visitor: Visitor, provider: OpenIdProvider) -> HttpResponse:
    """Link the visitor's account at the provider and return the response to the way back."""
    page = visitor.send("/account/identities/link", provider="corp")
    return come_back(visitor, provider.authorize(button(page)))


def button(page: HttpResponse) -> str:
    """Return where the first button of a page leads."""
    found = re.search(r'class="button" href="([^"]+)"', page.text)
    assert found is not None, page.text
    return unescape(found[1])
