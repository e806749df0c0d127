"""Session of the Django admin: a ``Session`` row like any other, but without a JWT.

The row sets when it expires, makes it revocable on its own, and records its address and authentication methods.
"""

import uuid
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.contrib.auth import update_session_auth_hash
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest
from django.utils import timezone

from accounts import selectors, services
from accounts.models import Session, User
from accounts.visitor import Visitor
from gatewall.engine.auth_methods import SECOND_FACTORS
from gatewall.policy import system_settings

_KEY = "gatewall.session"


def begin(store: SessionBase, user: User, *, amr: Iterable[str], visitor: Visitor, at: datetime) -> Session:
    """Create the session row at sign-in and end the previous one; both expire after ``session_hours``. Raises Gone."""
    _end(store, at=at)
    lifetime = timedelta(hours=system_settings.current().session_hours)
    expires_at = at.replace(microsecond=0) + lifetime
    row = services.open_session(user, uuid.uuid4(), at=at, expires_at=expires_at, visitor=visitor, amr=amr)
    store[_KEY] = str(row.pk)
    store.set_expiry(row.expires_at)
    return row


def keep_signed_in(request: HttpRequest, user: User, *, visitor: Visitor, at: datetime) -> Session:
    """Keep the owner signed in after a change that ended all their sessions; return the new row. Raises Gone.

    Drops the method of a second factor that was removed: a new factor must be verified first.
    """
    ended = request.session.pop(_KEY, None)
    before = Session.objects.filter(pk=ended).first() if ended is not None else None
    amr = set(before.amr if before is not None else ())
    if not selectors.has_second_factor(user):
        amr -= SECOND_FACTORS
    update_session_auth_hash(request, user)
    return begin(request.session, user, amr=sorted(amr, reverse=True), visitor=visitor, at=at)


def end(request: HttpRequest, *, at: datetime) -> None:
    """End the row of this session, at sign-out and before another sign-in."""
    _end(request.session, at=at)


def session_id(request: HttpRequest) -> str:
    """Return the id of the session's row, or "" for a session without one."""
    return str(request.session.get(_KEY, ""))


def row_of(request: HttpRequest, user: User) -> Session | None:
    """Return the live row of the user's session, or None: without one the session grants no access."""
    row = selectors.live_session(session_id(request), timezone.now())
    return row if row is not None and row.user_id == user.pk else None


def has_required_factors(request: HttpRequest, user: User) -> bool:
    """Return whether the session is live and, for a user with a second factor, was opened with it."""
    row = row_of(request, user)
    if row is None:
        return False
    return not SECOND_FACTORS.isdisjoint(row.amr) or not selectors.has_second_factor(user)


def _end(store: SessionBase, *, at: datetime) -> None:
    if before := store.pop(_KEY, None):
        services.revoke_session(uuid.UUID(before), at=at)
