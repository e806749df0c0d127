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
from accounts.authentication import signed_in_user
from accounts.sign_in import reauthentication
from gatewall.api.scopes import ScopedAccess


def is_fresh(request: HttpRequest | Request) -> bool:
    """Return whether the caller signed in within the last ten minutes, or sent an API token."""
    return _has_api_token(request) or reauthentication.is_fresh(_signed_in_at(request), timezone.now())


def require(request: HttpRequest | Request, *, password: str | None, code: str | None) -> None:
    """Raise unless the sign-in is fresh, or the password or code is correct.

    Raises ReauthenticationRequired, ReauthenticationFailed, TooManyAttempts, CodeEntryLocked.
    """
    if _has_api_token(request):
        return
    visitor, at = browser.visitor(request), timezone.now()
    began = _signed_in_at(request)
    user = signed_in_user(request)
    reauthentication.require_fresh(user, began, password=password, code=code, visitor=visitor, at=at)


def gives_access(values: Mapping[str, Any]) -> bool:
    """Return whether a change of a user gives them a password, or the rights of an admin or auditor."""
    return values.get("password") is not None or any(values.get(name) for name in ("is_admin", "is_auditor"))


def _has_api_token(request: HttpRequest | Request) -> bool:
    return isinstance(getattr(request, "auth", None), ScopedAccess)


def _signed_in_at(request: HttpRequest | Request) -> datetime | None:
    token = getattr(request, "auth", None)
    if token:
        return datetime.fromtimestamp(token["iat"], tz=UTC)
    session = admin_session.row_of(getattr(request, "_request", request), signed_in_user(request))
    return session.issued_at if session is not None else None
