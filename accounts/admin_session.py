"""The session of the Django admin. Stored like any session, but without a JWT.

The row gives it an end, lets it be ended singly, and says from where and with which factors its user came.
"""

import uuid
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.contrib.auth import update_session_auth_hash
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest
from django.utils import timezone

from accounts import selectors, services
from accounts.login import Visitor
from accounts.models import Session, User
from accounts.second_factor import RECOVERY_METHOD, TOTP_METHOD
from gatewall.policy import system_settings

_KEY = "gatewall.session"


def begin(store: SessionBase, user: User, *, amr: Iterable[str], visitor: Visitor, at: datetime) -> Session:
    """Open a row for a session in which the user has just signed in; both end after ``session_hours``.

    The row that it had before ends. Returns the new one. Raises Gone if the user was deleted.
    """
    _end(store, at=at)
    lifetime = timedelta(hours=system_settings.current().session_hours)
    row = services.open_session(
        user,
        uuid.uuid4(),
        at=at,
        expires_at=at.replace(microsecond=0) + lifetime,
        client_ip=visitor.client_ip,
        user_agent=visitor.user_agent,
        amr=amr,
    )
    store[_KEY] = str(row.pk)
    store.set_expiry(row.expires_at)
    return row


def go_on(request: HttpRequest, user: User, *, visitor: Visitor, at: datetime) -> Session:
    """Keep the owner signed in after a change that ended all their sessions; return the new row. Raises Gone.

    A second factor that they have no more is not remembered: another one would have to be shown.
    """
    ended = request.session.pop(_KEY, None)
    before = Session.objects.filter(pk=ended).first() if ended is not None else None
    amr = set(before.amr if before is not None else ())
    if not selectors.has_second_factor(user):
        amr -= {TOTP_METHOD, RECOVERY_METHOD}
    update_session_auth_hash(request, user)
    return begin(request.session, user, amr=sorted(amr, reverse=True), visitor=visitor, at=at)


def end(request: HttpRequest, *, at: datetime) -> None:
    """End the row of this session, as signing out does."""
    _end(request.session, at=at)


def jti_of(request: HttpRequest) -> str:
    """Return the id of the session's row, or "" for a session without one."""
    return str(request.session.get(_KEY, ""))


def row_of(request: HttpRequest, user: User) -> Session | None:
    """Return the live row of the user's session, or None: such a session opens nothing."""
    row = selectors.live_session(jti_of(request), timezone.now())
    return row if row is not None and row.user_id == user.pk else None


def is_enough(request: HttpRequest, user: User) -> bool:
    """True for a live session in which the user has shown their second factor, if they have one."""
    row = row_of(request, user)
    if row is None:
        return False
    return not {TOTP_METHOD, RECOVERY_METHOD}.isdisjoint(row.amr) or not selectors.has_second_factor(user)


def _end(store: SessionBase, *, at: datetime) -> None:
    if before := store.pop(_KEY, None):
        services.revoke_session(uuid.UUID(before), at=at)
