"""What the account rows say. Reads only."""

import uuid
from datetime import datetime

from django.db.models import Count, F, Q, QuerySet

from accounts.models import Session, User


def users(at: datetime) -> QuerySet[User]:
    """Return the users with their domains and, as ``session_count``, their live sessions."""
    live = Q(
        sessions__revoked_at__isnull=True,
        sessions__expires_at__gt=at,
        sessions__session_version=F("session_version"),
    )
    counted = User.objects.annotate(session_count=Count("sessions", filter=live))
    return counted.prefetch_related("authorized_domains").order_by("id")


def user_by_name(username: str) -> User | None:
    """Return the user of this name, case ignored, or None."""
    return User.objects.filter(username__iexact=username).first()


def users_named(*, id: int | None = None, name: str = "") -> QuerySet[User]:  # noqa: A002 - the field's name
    """Return the user of this id, or of this name, case ignored; none if there is none."""
    return User.objects.filter(pk=id) if id is not None else User.objects.filter(username__iexact=name)


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


def revoked_sessions(at: datetime) -> QuerySet[Session]:
    """Return the sessions that were revoked and whose tokens have not expired."""
    return Session.objects.filter(revoked_at__isnull=False, expires_at__gt=at)


def has_active_admin_besides(user: User) -> bool:
    """True if somebody else could still administrate."""
    return User.objects.filter(is_admin=True, is_active=True).exclude(pk=user.pk).exists()


def has_admin() -> bool:
    """True if any admin was ever made and still exists, active or not."""
    return User.objects.filter(is_admin=True).exists()
