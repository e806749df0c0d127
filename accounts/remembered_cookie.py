"""The cookie of remembered devices: a secret per user, each with a keyed digest. Pure, except for the key.

Browsers send it only to our own pages (host-only, ``SameSite=Strict``), so no protected site receives it.
"""

import hashlib
from collections.abc import Iterable, Iterator
from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare, salted_hmac
from rest_framework.request import Request

COOKIE_NAME = "gatewall.remembered"
_MAX_USERS = 4
_MAX_COOKIE_LENGTH = 512
_SALT = "accounts.remembered_devices"
_MAC_LENGTH = 32


def digest_of(secret: str) -> str:
    """Return the SHA-256 digest of a secret, as stored in its row."""
    return hashlib.sha256(secret.encode()).hexdigest()


def held_by(request: HttpRequest | Request) -> tuple[tuple[int, str], ...]:
    """Return the user ids and secrets in the browser's cookie that have a valid digest of ours."""
    return tuple(_read(request.COOKIES.get(COOKIE_NAME, "")))


def hold(
    response: HttpResponse, request: HttpRequest | Request, user_id: int, secret: str, *, days: int, secure: bool
) -> None:
    """Set the cookie with this user's secret first; keep the secrets of the last three other users."""
    others = [(user, text) for user, text in held_by(request) if user != user_id]
    _set(response, [(user_id, secret), *others][:_MAX_USERS], days=days, secure=secure)


def _set(response: HttpResponse, held: Iterable[tuple[int, str]], *, days: int, secure: bool) -> None:
    response.set_cookie(
        COOKIE_NAME,
        "~".join(f"{user_id}.{secret}.{_mac(user_id, secret)}" for user_id, secret in held),
        max_age=timedelta(days=days),
        path=f"{settings.ROOT_PATH}/",
        secure=secure,
        httponly=True,
        samesite="Strict",
    )


def _read(text: str) -> Iterator[tuple[int, str]]:
    parts = text.split("~")[:_MAX_USERS] if len(text) <= _MAX_COOKIE_LENGTH and text.isascii() else ()
    for part in parts:
        number, _, rest = part.partition(".")
        secret, _, mac = rest.partition(".")
        if number.isdigit() and len(number) < 19 and constant_time_compare(mac, _mac(int(number), secret)):
            yield int(number), secret


def _mac(user_id: int, secret: str) -> str:
    return salted_hmac(_SALT, f"{user_id}.{secret}", algorithm="sha256").hexdigest()[:_MAC_LENGTH]
