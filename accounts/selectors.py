"""What the account rows say. Reads only."""

import uuid
from datetime import datetime, timedelta

from django.db.models import Count, Exists, F, Max, OuterRef, Q, QuerySet

from accounts.models import Session, TotpDevice, User

_AT_HOME_DAYS = 30


def users(at: datetime) -> QuerySet[User]:
    """Return the users with their domains, ``session_count`` (live sessions) and ``totp_enabled``."""
    live = Q(
        sessions__revoked_at__isnull=True,
        sessions__expires_at__gt=at,
        sessions__session_version=F("session_version"),
    )
    confirmed = TotpDevice.objects.filter(user=OuterRef("pk"), confirmed_at__isnull=False)
    counted = User.objects.annotate(session_count=Count("sessions", filter=live), totp_enabled=Exists(confirmed))
    return counted.prefetch_related("authorized_domains").order_by("id")


def user_by_name(username: str) -> User | None:
    """Return the user of this name, case ignored, or None."""
    return User.objects.filter(username__iexact=username).first()


def active_user(user_id: int) -> User | None:
    """Return the user if there is one and he may sign in."""
    return User.objects.filter(pk=user_id, is_active=True).first()


def live_session(jti: str, at: datetime) -> Session | None:
    """Return the session of this token with its user, or None if it opens nothing any more."""
    try:
        key = uuid.UUID(jti)
    except ValueError:
        return None
    session = Session.objects.select_related("user").filter(pk=key, user__is_active=True).first()
    return session if session and session.is_live(at) else None


def live_sessions(user_id: int, at: datetime) -> QuerySet[Session]:
    """Return the sessions of a user that open anything."""
    live = Session.objects.filter(user_id=user_id, revoked_at__isnull=True, expires_at__gt=at)
    return live.filter(session_version=F("user__session_version"), user__is_active=True)


def longest_session_life(at: datetime) -> timedelta:
    """Return for how long that live session was opened which was opened for longest; zero without any."""
    lives = Session.objects.filter(revoked_at__isnull=True, expires_at__gt=at)
    return lives.aggregate(longest=Max(F("expires_at") - F("issued_at")))["longest"] or timedelta()


def has_second_factor(user: User) -> bool:
    """True if the user has confirmed an authenticator app."""
    return TotpDevice.objects.filter(user=user, confirmed_at__isnull=False).exists()


def is_at_home(username: str, client_ip: str, at: datetime) -> bool:
    """True if the user has signed in from this address within the last 30 days."""
    lately = at - timedelta(days=_AT_HOME_DAYS)
    return Session.objects.filter(user__username__iexact=username, client_ip=client_ip, issued_at__gte=lately).exists()


def revoked_sessions(at: datetime) -> QuerySet[Session]:
    """Return the sessions that were revoked and whose tokens have not expired."""
    return Session.objects.filter(revoked_at__isnull=False, expires_at__gt=at)


def has_active_admin_besides(user: User) -> bool:
    """True if somebody else could still administrate."""
    return User.objects.filter(is_admin=True, is_active=True).exclude(pk=user.pk).exists()


def has_admin() -> bool:
    """True if any admin was ever made and still exists, active or not."""
    return User.objects.filter(is_admin=True).exists()
