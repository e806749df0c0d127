"""Signing in: from a name and a password to a session."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.hashers import check_password, make_password
from django.utils.functional import SimpleLazyObject

from accounts import selectors, services, tokens
from accounts.models import USERNAME_PATTERN, User
from accounts.tokens import IssuedToken
from accounts.validators import MAX_LENGTH
from gatewall import system_settings
from gatewall.refusals import Forbidden, Gone, Refusal

_WRONG = "the user name or the password is wrong"
_PASSWORD = "pwd"  # RFC 8176
_NOBODY = SimpleLazyObject(lambda: make_password("the password of nobody"))


class InvalidCredentials(Refusal):
    """Unknown user, wrong password or disabled account: the caller is not told which."""

    code = "invalid-credentials"


class AdminRequired(Forbidden):
    """The password is right, but only admins may sign in here."""

    code = "admin-required"


@dataclass(frozen=True, slots=True)
class Visitor:
    """Where a sign-in comes from, for the list of sessions."""

    client_ip: str
    user_agent: str


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A completed sign-in."""

    user: User
    token: IssuedToken
    amr: tuple[str, ...]


def verify_password(username: str, password: str) -> User | None:
    """Return the active user whose password this is, or None after equal work.

    A password that no account can have is not hashed at its full length.
    """
    user = selectors.user_by_name(username) if re.match(USERNAME_PATTERN, username) else None
    known = user is not None and user.is_active
    encoded = user.password if user is not None and known else str(_NOBODY)
    matches = check_password(password[:MAX_LENGTH], encoded)
    return user if matches and known and len(password) <= MAX_LENGTH else None


def sign_in(
    username: str,
    password: str,
    *,
    audiences: tuple[str, ...],
    visitor: Visitor,
    at: datetime,
    admins_only: bool = False,
) -> SignedIn:
    """Open a session for the user whose password this is. Raises InvalidCredentials, AdminRequired."""
    user = verify_password(username, password)
    if user is None:
        raise InvalidCredentials(_WRONG)
    if admins_only and not user.is_admin:
        raise AdminRequired("only admins may sign in here")
    return open_session(user, audiences=audiences, amr=(_PASSWORD,), visitor=visitor, at=at)


def open_session(
    user: User, *, audiences: tuple[str, ...], amr: tuple[str, ...], visitor: Visitor, at: datetime
) -> SignedIn:
    """Issue a token to a user who has proved to be one, and record its session."""
    token = tokens.issue(
        user_id=user.pk,
        session_version=user.session_version,
        audiences=audiences,
        amr=amr,
        at=at,
        lifetime=timedelta(hours=system_settings.current().session_hours),
    )
    try:
        services.open_session(user, token, at=at, client_ip=visitor.client_ip, user_agent=visitor.user_agent, amr=amr)
    except Gone:
        raise InvalidCredentials(_WRONG) from None
    return SignedIn(user, token, amr)
