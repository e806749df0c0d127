"""Re-authenticate signed-in users before sensitive actions (sudo mode)."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from accounts import selectors
from accounts.models import User
from accounts.sign_in import code_entry, events, methods, totp
from accounts.sign_in import password as passwords
from accounts.sign_in.totp import WrongSetupCode
from accounts.visitor import Visitor
from gatewall.engine.auth_methods import PASSWORD, SECOND_FACTORS
from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.refusals import Conflict, Forbidden, Gone

FLOW = "reauthentication"
FRESH = timedelta(minutes=10)
"""How long a sign-in is fresh."""


class ReauthenticationRequired(Forbidden):
    """The sign-in is not fresh: send the password or, where allowed, a code."""

    code = "reauthentication-required"


class CodeRequired(ReauthenticationRequired):
    """The user has a second factor, which the session has not proved within ten minutes: send a code along."""

    code = "code-required"


class ReauthenticationFailed(Forbidden):
    """The password or code is wrong."""

    code = "reauthentication-failed"


@dataclass(frozen=True, slots=True)
class SignIn:
    """Time at which a session was opened, None if unknown, and the methods that it proved (``amr``)."""

    at: datetime | None
    amr: Collection[str] = ()


def is_fresh(user: User, sign_in: SignIn, at: datetime) -> bool:
    """Return whether the session began within ten minutes of now, with the second factor if the user has one.

    Before or after now: the clock of its host may be ahead.
    """
    if sign_in.at is None or abs(at - sign_in.at) >= FRESH:
        return False
    return not SECOND_FACTORS.isdisjoint(sign_in.amr) or not selectors.has_second_factor(user)


def asked_for(user: User, sign_in: SignIn, at: datetime) -> str:
    """Return the proof that a form must ask for: ``password``, ``code``, or "" if the sign-in is fresh."""
    if is_fresh(user, sign_in, at):
        return ""
    return "code" if selectors.has_second_factor(user) else "password"


def require_fresh(
    user: User, sign_in: SignIn, *, password: str | None, code: str | None, visitor: Visitor, at: datetime
) -> tuple[str, ...]:
    """Require a fresh sign-in, a password or a code; return the methods proved in addition (``amr``).

    Raises as ``require_password_or_code()`` does.
    """
    if is_fresh(user, sign_in, at):
        return ()
    return require_password_or_code(user, password=password, code=code, visitor=visitor, at=at)


def require_own_password(
    user: User, sign_in: SignIn, *, password: str | None, code: str | None, visitor: Visitor, at: datetime
) -> None:
    """Raise unless the password is correct and the second factor, if there is one, was proved within ten minutes."""
    require_password(user, password, visitor=visitor, at=at)
    if selectors.has_second_factor(user):
        require_fresh(user, sign_in, password=None, code=code, visitor=visitor, at=at)


def require_password(user: User, password: str | None, *, visitor: Visitor, at: datetime) -> None:
    """Raise unless this is the user's password: ReauthenticationRequired, ReauthenticationFailed, TooManyAttempts."""
    if password is None:
        raise ReauthenticationRequired("your password is required")
    attempt = events.attempt(user.username, visitor, at, flow=FLOW)
    with attempt.uncounted_if_too_busy():
        is_right = passwords.is_correct(user, password)
    if not is_right:
        events.failed(user.username, visitor.client_ip, at, flow=FLOW)
        raise ReauthenticationFailed("the password is wrong")
    attempt.uncount()


def require_password_or_code(
    user: User, *, password: str | None, code: str | None, visitor: Visitor, at: datetime
) -> tuple[str, ...]:
    """Use up a correct code, or verify the password of a user without a second factor; return the methods proved.

    Raises CodeRequired, ReauthenticationRequired, ReauthenticationFailed, TooManyAttempts, CodeEntryLocked.
    """
    if code is not None:
        if not (proved := prove_code(user, code, visitor=visitor, at=at)):
            raise ReauthenticationFailed(_("the code is wrong, or was used already"))
        return proved
    if selectors.has_second_factor(user):  # a guessed or seen password must not be enough
        raise CodeRequired("send a code of your second factor along, or sign in again with it")
    require_password(user, password, visitor=visitor, at=at)
    return (PASSWORD,)


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
