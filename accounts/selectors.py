"""Queries of account rows. Read-only."""

import re
import uuid
from datetime import datetime, timedelta

from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.db.models import Count, Exists, F, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from accounts.models import USERNAME_PATTERN, Passkey, Session, TotpDevice, User, WrongCodes
from gatewall.database.prepared import Prepared

CODES_LOCK = 100
"""Consecutive wrong codes after which codes of an authenticator app are refused."""
FAMILIAR_FOR = timedelta(days=30)
_LONGEST_WITHOUT_SIGN_IN = timedelta(days=7)
_DAY = timedelta(days=1)
_MAX_SPARE_SESSIONS = 20_000
_SESSION = Prepared(lambda key: Session.objects.select_related("user").filter(pk=key, user__is_active=True))
_NEWEST_SESSION = Prepared(lambda: Session.objects.order_by("-expires_at").values_list("issued_at")[:1])
_MAX_SESSIONS_READ = _MAX_USERS_READ = 1000


def users(at: datetime) -> QuerySet[User]:
    """Return the users with domains, groups and computed columns.

    The computed columns are ``session_count`` (live sessions), ``totp_enabled`` and ``code_entry_locked``.
    """
    live = Session.objects.filter(
        user=OuterRef("pk"),
        revoked_at__isnull=True,
        expires_at__gt=at,
        session_version=OuterRef("session_version"),
    )
    # A subquery, not a join: a page then counts only the sessions of its own users.
    number = live.order_by().values("user").annotate(number=Count("pk")).values("number")
    confirmed = TotpDevice.objects.filter(user=OuterRef("pk"), confirmed_at__isnull=False)
    counted = User.objects.annotate(
        session_count=Coalesce(Subquery(number, output_field=IntegerField()), 0),
        totp_enabled=Exists(confirmed),
        code_entry_locked=Exists(WrongCodes.objects.filter(user=OuterRef("pk"), number__gte=CODES_LOCK)),
    )
    return counted.prefetch_related("authorized_domains", "groups").order_by("id")


def user_by_name(username: str) -> User | None:
    """Return the user of this name, ignoring case, or None. Runs no query for an impossible name."""
    if not re.match(USERNAME_PATTERN, username):
        return None
    return User.objects.filter(username__iexact=username).first()


def users_named(*, id: int | None = None, name: str = "") -> QuerySet[User]:  # noqa: A002 - the field's name
    """Return the user of this id or of this name, ignoring case, as a query set."""
    return User.objects.filter(pk=id) if id is not None else User.objects.filter(username__iexact=name)


def active_user(user_id: int) -> User | None:
    """Return the user if they exist and are active."""
    return User.objects.filter(pk=user_id, is_active=True).first()


def live_session(jti: str, at: datetime) -> Session | None:
    """Return the live session of this token with its user, or None."""
    try:
        key = uuid.UUID(jti)
    except ValueError:
        return None
    session = _SESSION.first(key)
    return session if session and session.is_live(at) else None


def live_sessions(user_id: int, at: datetime) -> QuerySet[Session]:
    """Return the live sessions of a user."""
    return _live(at).filter(user_id=user_id)


def number_of_users() -> dict[str, int]:
    """Return the number of users and of admins."""
    return User.objects.aggregate(users=Count("pk"), admins=Count("pk", filter=Q(is_admin=True)))


def number_of_live_sessions(at: datetime) -> int:
    """Return the number of live sessions."""
    return _live(at).count()


def longest_session_life(at: datetime) -> timedelta:
    """Return the longest lifetime of a live session; zero without any."""
    live = Session.objects.filter(revoked_at__isnull=True, expires_at__gt=at)
    # Do not select the interval: the driver can parse it only if the server has one certain IntervalStyle.
    longest = live.order_by((F("expires_at") - F("issued_at")).desc()).first()
    return longest.expires_at - longest.issued_at if longest else timedelta()


def has_second_factor(user: User) -> bool:
    """Return whether the user has confirmed an authenticator app, or has a passkey."""
    return totp_devices_of(user.pk).exists() or has_passkey(user)


def totp_devices_of(user_id: int) -> QuerySet[TotpDevice]:
    """Return the confirmed authenticator apps of a user."""
    return TotpDevice.objects.filter(user_id=user_id, confirmed_at__isnull=False)


def has_passkey(user: User) -> bool:
    """Return whether the user has a passkey."""
    return passkeys_of(user.pk).exists()


def all_have_passkeys(rp_id: str) -> bool:
    """Return whether every active user has a passkey for this domain; False above 1,000 users, to bound the query."""
    active = User.objects.filter(is_active=True)
    if not 0 < active.order_by()[: _MAX_USERS_READ + 1].count() <= _MAX_USERS_READ:
        return False
    return not active.exclude(Exists(Passkey.objects.filter(user=OuterRef("pk"), rp_id=rp_id))).exists()


def passkeys_of(user_id: int) -> QuerySet[Passkey]:
    """Return the passkeys of a user."""
    return Passkey.objects.filter(user_id=user_id)


def recent_addresses(username: str, at: datetime) -> set[str]:
    """Return the addresses of the user's sign-ins within the last 30 days."""
    user = user_by_name(username)
    lately = Session.objects.filter(user=user, issued_at__gte=at - FAMILIAR_FOR).order_by("-issued_at")
    return set(lately.values_list("client_ip", flat=True)[:_MAX_SESSIONS_READ]) if user is not None else set()


def recent_devices(user: User, at: datetime) -> list[tuple[str, str]]:
    """Return address and user agent of the user's sign-ins within the last 30 days, before now."""
    lately = Session.objects.filter(user=user, issued_at__gte=at - FAMILIAR_FOR, issued_at__lt=at)
    return list(lately.order_by("-issued_at").values_list("client_ip", "user_agent")[:_MAX_SESSIONS_READ])


def is_code_entry_locked(user: User) -> bool:
    """Return whether codes of the user's authenticator app are refused."""
    return WrongCodes.objects.filter(user=user, number__gte=CODES_LOCK).exists()


def needed_since(at: datetime) -> datetime:
    """Return the expiry before which session rows may be deleted: 30 days ago.

    The host's clock may be years fast, and a deletion affects all hosts, so it is at least 23 days before the issue
    time of the newest session.
    """
    return min(at, _last_issued(at) + _LONGEST_WITHOUT_SIGN_IN) - FAMILIAR_FOR


def revoked_sessions(at: datetime) -> QuerySet[Session]:
    """Return revoked sessions whose tokens some host's clock may not yet consider expired.

    These are sessions that expired less than a day ago, by the clock and by the newest session's issue time. As that
    session may come from a fast clock, those of 30 days are included too, if they are among the last 20,000: every
    revocation compiles all of them.
    """
    behind = Session.objects.order_by("-expires_at").values_list("expires_at", flat=True)
    spare = max([needed_since(at), *behind[_MAX_SPARE_SESSIONS : _MAX_SPARE_SESSIONS + 1]])
    since = min(spare, at - _DAY, _last_issued(at) - _DAY)
    return Session.objects.filter(revoked_at__isnull=False, expires_at__gt=since)


def _live(at: datetime) -> QuerySet[Session]:
    live = Session.objects.filter(revoked_at__isnull=True, expires_at__gt=at, user__is_active=True)
    return live.filter(session_version=F("user__session_version"))


def _last_issued(at: datetime) -> datetime:
    ((issued_at,),) = list(_NEWEST_SESSION()) or [(at,)]  # nearly the newest: the index orders by expiry
    return issued_at


def has_active_admin_besides(user: User) -> bool:
    """Return whether there is another active admin who can sign in with a password."""
    return _active_admins().exclude(pk=user.pk).exists()


def has_active_admin() -> bool:
    """Return whether there is an active admin who can sign in with a password."""
    return _active_admins().exists()


def _active_admins() -> QuerySet[User]:
    """Return the active admins with a password, who do not depend on an identity provider or a passkey."""
    active = User.objects.filter(is_admin=True, is_active=True)
    return active.exclude(password__startswith=UNUSABLE_PASSWORD_PREFIX)


def has_admin() -> bool:
    """Return whether any admin exists, active or not."""
    return User.objects.filter(is_admin=True).exists()
