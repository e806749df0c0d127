"""Reset the second factor of an admin who has lost it."""

import secrets
from datetime import datetime

from django.conf import settings
from django.db import transaction

from accounts import login, second_factor, services, sign_in_events
from accounts.login import Visitor
from accounts.models import User
from audit.event_kinds import EventKind
from audit.events.recording import Event, record_event
from gatewall.kernel.refusals import Forbidden

FLOW = "recovery"


class RecoveryRefused(Forbidden):
    """Wrong key, wrong password, no admin, or no key set: the caller is not told which."""

    code = "recovery-refused"


def recover(username: str, password: str, recovery_key: str, *, visitor: Visitor, at: datetime) -> None:
    """Take second factor, recovery codes and sessions from the admin whose password this is.

    The key is checked before the password. Raises RecoveryRefused, TooManyAttempts.
    """
    where, at_home = visitor.client_ip, visitor.is_at_this_machine
    attempt = sign_in_events.attempt(username, where, at, flow=FLOW, is_at_home=at_home)
    if not _is_key(recovery_key):
        sign_in_events.recovery_refused(username, where, at, why="recovery-key")
        raise RecoveryRefused("this is refused")
    with attempt.unless_too_busy():
        user = login.verify_password(username, password)
    if user is None or not user.is_admin:
        sign_in_events.recovery_refused(username, where, at, why="invalid-credentials")
        raise RecoveryRefused("this is refused")
    attempt.was_no_failure()
    reset(user, actor=user.username, client_ip=where)


@transaction.atomic
def reset(user: User, *, actor: str, client_ip: str | None = None) -> None:
    """Take second factor, recovery codes and sessions from a user. Raises Gone."""
    services.end_all_sessions(user, actor=actor)
    second_factor.forget(user)
    record_event(Event(EventKind.TWO_FACTOR_RECOVERED, client_ip=client_ip, user=user, detail={"actor": actor}))


def _is_key(text: str) -> bool:
    """True for the recovery key of this installation; without one, nothing is."""
    key = settings.GATEWALL_ADMIN_RECOVERY_KEY
    return secrets.compare_digest(text.encode("utf-8", "replace"), key.encode()) if key else False
