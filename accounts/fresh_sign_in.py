"""Freshness of the caller's sign-in, and re-authentication (for ``gatewall.api``).

A call with an API token is fresh: its scopes were granted in a fresh session.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from rest_framework.request import Request

from accounts import admin_session, browser
from accounts.authentication import amr_of, signed_in_user
from accounts.sign_in import reauthentication
from accounts.sign_in.reauthentication import SignIn
from gatewall.api.scopes import ScopedAccess


def is_fresh(request: HttpRequest | Request) -> bool:
    """Return whether the caller signed in within the last ten minutes, or sent an API token.

    A user with a second factor must have signed in with it.
    """
    return _has_api_token(request) or reauthentication.is_fresh(
        signed_in_user(request), sign_in_of(request), timezone.now()
    )


def require(request: HttpRequest | Request, *, password: str | None, code: str | None) -> None:
    """Raise unless the sign-in is fresh, or the password or code is correct.

    Raises CodeRequired, ReauthenticationRequired, ReauthenticationFailed, TooManyAttempts, CodeEntryLocked.
    """
    if _has_api_token(request):
        return
    visitor, at = browser.visitor(request), timezone.now()
    user, sign_in = signed_in_user(request), sign_in_of(request)
    reauthentication.require_fresh(user, sign_in, password=password, code=code, visitor=visitor, at=at)


def gives_access(values: Mapping[str, Any]) -> bool:
    """Return whether a change of a user gives them a password, or the rights of an admin or auditor."""
    return values.get("password") is not None or any(values.get(name) for name in ("is_admin", "is_auditor"))


def _has_api_token(request: HttpRequest | Request) -> bool:
    return isinstance(getattr(request, "auth", None), ScopedAccess)


def sign_in_of(request: HttpRequest | Request) -> SignIn:
    """Return when and how the caller's session was opened."""
    token = getattr(request, "auth", None)
    if token:
        return SignIn(datetime.fromtimestamp(token["iat"], tz=UTC), amr_of(request))
    session = admin_session.row_of(getattr(request, "_request", request), signed_in_user(request))
    return SignIn(session.issued_at, session.amr) if session is not None else SignIn(None)
