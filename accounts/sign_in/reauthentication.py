"""Re-authenticate signed-in users before sensitive actions (sudo mode)."""

from datetime import datetime, timedelta

from accounts.models import User
from accounts.sign_in import code_entry, events, methods, totp
from accounts.sign_in import password as passwords
from accounts.sign_in.totp import WrongSetupCode
from accounts.visitor import Visitor
from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.refusals import Conflict, Forbidden, Gone

FLOW = "reauthentication"
FRESH = timedelta(minutes=10)
"""How long a sign-in is fresh."""


class ReauthenticationRequired(Forbidden):
    """The sign-in is not fresh: send the password or, where allowed, a code."""

    code = "reauthentication-required"


class ReauthenticationFailed(Forbidden):
    """The password or code is wrong."""

    code = "reauthentication-failed"


def is_fresh(signed_in_at: datetime | None, at: datetime) -> bool:
    """Return whether the session began within ten minutes of now, before or after: its host's clock may be ahead."""
    return signed_in_at is not None and abs(at - signed_in_at) < FRESH


def require_fresh(
    user: User, signed_in_at: datetime | None, *, password: str | None, code: str | None, visitor: Visitor, at: datetime
) -> None:
    """Raise as ``require_password_or_code()`` does, unless the sign-in is fresh."""
    if not is_fresh(signed_in_at, at):
        require_password_or_code(user, password=password, code=code, visitor=visitor, at=at)


def require_password(user: User, password: str | None, *, visitor: Visitor, at: datetime) -> None:
    """Raise unless this is the user's password: ReauthenticationRequired, ReauthenticationFailed, TooManyAttempts."""
    if password is None:
        raise ReauthenticationRequired("send your password along")
    attempt = events.attempt(user.username, visitor, at, flow=FLOW)
    with attempt.uncounted_if_too_busy():
        is_right = passwords.is_correct(user, password)
    if not is_right:
        events.failed(user.username, visitor.client_ip, at, flow=FLOW)
        raise ReauthenticationFailed("the password is wrong")
    attempt.uncount()


def require_password_or_code(
    user: User, *, password: str | None, code: str | None, visitor: Visitor, at: datetime
) -> None:
    """Raise unless the code or the password is correct. Uses up the code."""
    if code is None:
        if password is None:
            raise ReauthenticationRequired("send your password or a code along")
        require_password(user, password, visitor=visitor, at=at)
        return
    if not prove_code(user, code, visitor=visitor, at=at):
        raise ReauthenticationFailed(_("the code is wrong, or was used already"))


def prove_code(user: User, code: str, *, visitor: Visitor, at: datetime) -> tuple[str, ...]:
    """Use up a code and return what it proves (``amr``); empty for a wrong one, which is counted.

    Raises TooManyAttempts, CodeEntryLocked, Gone.
    """
    entry = code_entry.begin(user, code, visitor, at, flow=FLOW)
    proved = methods.use_code(user, code, at=at)
    if proved:
        entry.record_right()
    else:
        entry.record_wrong()
    return proved


def confirm_second_factor(user: User, code: str, *, visitor: Visitor, at: datetime) -> list[str]:
    """Enable the second factor and return its recovery codes; a wrong code counts as at sign-in.

    Raises what ``totp.confirm_setup()`` raises, TooManyAttempts and CodeEntryLocked.
    """
    entry = code_entry.begin(user, code, visitor, at, flow=FLOW)
    try:
        codes = totp.confirm_setup(user, code, at=at, client_ip=visitor.client_ip)
    except (Conflict, Gone):
        entry.uncount()
        raise
    except WrongSetupCode:
        entry.record_wrong()
        raise
    entry.record_right()
    return codes
