"""Recognize browsers that a user has signed in with, to notify the user of sign-ins with a new browser.

A cookie for our own pages contains the ids of the users, each with a keyed digest. It grants no access: a stolen
cookie only suppresses the notice.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare, salted_hmac
from rest_framework.request import Request

from accounts import selectors
from accounts.models import User
from accounts.visitor import Visitor
from gatewall.engine.addresses import parse_address
from gatewall.engine.devices import name_of
from gatewall.kernel.detectors import network_of

COOKIE_NAME = "gatewall.browser"
_LIFETIME = timedelta(days=400)  # the maximum that browsers accept for a cookie
_MAX_USERS = 8
_MAX_COOKIE_LENGTH = 1024
_DIGEST_LENGTH = 32
_SALT = "accounts.known_browsers"


def users_of(request: HttpRequest | Request) -> frozenset[int]:
    """Return the ids of the users in the browser's cookie."""
    return frozenset(_read(request.COOKIES.get(COOKIE_NAME, "")))


def remember(response: HttpResponse, request: HttpRequest | Request, user_id: int, *, secure: bool) -> None:
    """Put this user first in the browser's cookie; keep up to seven others."""
    users = list(dict.fromkeys([user_id, *_read(request.COOKIES.get(COOKIE_NAME, ""))]))[:_MAX_USERS]
    response.set_cookie(
        COOKIE_NAME,
        "~".join(f"{each}.{_digest(each)}" for each in users),
        max_age=_LIFETIME,
        path=f"{settings.ROOT_PATH}/",  # so that no protected site receives it
        secure=secure,
        httponly=True,
        samesite="Lax",
    )


def is_new(user: User, visitor: Visitor, at: datetime) -> bool:
    """Return whether the user, who has signed in before, has not used this browser in the last 30 days.

    Programs without cookies are recognized by browser, operating system and network.
    """
    if user.last_login_at is None or user.pk in visitor.known_browser_of:
        return False
    here = _network_and_program(visitor.client_ip, visitor.user_agent)
    return here not in {_network_and_program(*earlier) for earlier in selectors.recent_devices(user, at)}


def _network_and_program(client_ip: str, user_agent: str) -> tuple[str, str]:
    address = parse_address(client_ip)
    return (str(network_of(address)) if address else client_ip, name_of(user_agent))


def _read(text: str) -> Iterator[int]:
    parts: Iterable[str] = text.split("~")[:_MAX_USERS] if len(text) <= _MAX_COOKIE_LENGTH else ()
    for part in parts:
        number, _, digest = part.partition(".")
        if number.isascii() and number.isdigit() and len(number) < 19 and _is_digest(digest, int(number)):
            yield int(number)


def _is_digest(text: str, user_id: int) -> bool:
    return constant_time_compare(text, _digest(user_id))


def _digest(user_id: int) -> str:
    return salted_hmac(_SALT, str(user_id), algorithm="sha256").hexdigest()[:_DIGEST_LENGTH]
