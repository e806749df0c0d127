"""Reset the second factor of an admin who has lost it."""

import secrets
from datetime import datetime

from django.conf import settings
from django.db import transaction

from accounts import services
from accounts.models import User
from accounts.sign_in import events, second_factor
from accounts.sign_in import password as passwords
from accounts.visitor import Visitor
from audit.event_kinds import EventKind
from audit.events.recording import Event, record_event
from gatewall.kernel.refusals import Forbidden

FLOW = "recovery"


class RecoveryRefused(Forbidden):
    """Wrong key, wrong password, not an admin, or no key configured: the response does not say which."""

    code = "recovery-refused"


def recover(username: str, password: str, recovery_key: str, *, visitor: Visitor, at: datetime) -> None:
    """Remove second factor, recovery codes and sessions of the admin with this password.

    Checks the recovery key before the password. Raises RecoveryRefused, TooManyAttempts.
    """
    where = visitor.client_ip
    attempt = events.attempt(username, visitor, at, flow=FLOW)
    if not _is_key(recovery_key):
        events.recovery_refused(username, where, at, why="recovery-key")
        raise RecoveryRefused("this is refused")
    with attempt.uncounted_if_too_busy():
        user = passwords.verify(username, password)
    if user is None or not user.is_admin:
        events.recovery_refused(username, where, at, why="invalid-credentials")
        raise RecoveryRefused("this is refused")
    attempt.uncount()
    reset(user, actor=user.username, client_ip=where)


@transaction.atomic
def reset(user: User, *, actor: str, client_ip: str | None = None) -> None:
    """Remove second factor, recovery codes and sessions of a user. Raises Gone."""
    services.end_all_sessions(user, actor=actor)
    second_factor.forget(user)
    record_event(Event(EventKind.TWO_FACTOR_RECOVERED, client_ip=client_ip, user=user, detail={"actor": actor}))


def _is_key(text: str) -> bool:
    key = settings.GATEWALL_ADMIN_RECOVERY_KEY
    return secrets.compare_digest(text.encode("utf-8", "replace"), key.encode()) if key else False
