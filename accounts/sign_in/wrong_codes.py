"""Limit consecutive wrong second-factor codes per account, across networks, flows, processes and hosts.

A code is only checked after a correct password or in a live session, so strangers cannot lock an owner out. Without the
limit a distributed attacker would guess six digits (RFC 6238 section 5.2, RFC 4226 section 7.3, NIST SP 800-63B section
5.2.2).

Five wrong codes cause no delay; from the sixth on, a delay doubles up to an hour. After 100, codes of an authenticator
app are refused; recovery codes (80 random bits) still work, with the same delays. A code is counted before it is
checked, so parallel guesses get no more tries.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import IntegrityError

from accounts.models import User, WrongCodes
from accounts.selectors import CODES_LOCK
from accounts.sign_in.throttling import LONGEST_DELAY, Limit, TooManyAttempts, blocked_until, seconds_until
from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.refusals import Forbidden, Gone
from gatewall.policy import system_settings

FREE = 5
ENDS_CHALLENGES = 10
LOCKS = CODES_LOCK
SCOPE = "code"
_MOST_CHANGES = 1_000  # concurrent changes between read and write; delays end such a race long before


class CodeEntryLocked(Forbidden):
    """Too many consecutive wrong codes: an admin, recovery or a recovery code unlocks code entry."""

    code = "code-entry-locked"


@dataclass(frozen=True, slots=True)
class Try:
    """A counted try: wrong code ``number`` in a row, until it is uncounted."""

    user_id: int
    number: int
    before: datetime | None
    blocked_until: datetime | None

    def take_back(self) -> None:
        """Uncount the try with the delay that it caused: the code was not checked, or was correct without effect."""
        unchanged = {"number": self.number, "blocked_until": self.blocked_until}
        WrongCodes.objects.filter(user_id=self.user_id, **unchanged).update(
            number=self.number - 1, blocked_until=self.before
        )


def take(user: User, at: datetime, *, is_recovery_code: bool = False) -> Try:
    """Count a wrong code before it is checked. Raises TooManyAttempts, CodeEntryLocked, Gone, without counting.

    One conditional update changes the row, so parallel tries get distinct numbers.
    """
    for _attempt in range(_MOST_CHANGES):
        row = _row_of(user)
        _refuse(row, at, is_recovery_code=is_recovery_code)
        limit = Limit(FREE + 1, timedelta(), timedelta(seconds=system_settings.current().login_delay_seconds))
        number, until = row.number + 1, blocked_until(row.number + 1, limit, at)
        unchanged = WrongCodes.objects.filter(user=user, number=row.number, blocked_until=row.blocked_until)
        if unchanged.update(number=number, blocked_until=until):
            return Try(user.pk, number, row.blocked_until, until)
    raise _too_many(1)


def forget(user: User) -> None:
    """Reset the count: a correct code completed a sign-in, or the second factor was changed or removed."""
    WrongCodes.objects.filter(user=user).update(number=0, blocked_until=None)


def follow_the_clock(at: datetime) -> int:
    """Clamp delays to an hour if the clock moved back; return 0, the number of deleted rows."""
    longest = at + LONGEST_DELAY
    WrongCodes.objects.filter(blocked_until__gt=longest).update(blocked_until=longest)
    return 0


def _row_of(user: User) -> WrongCodes:
    try:
        return WrongCodes.objects.get_or_create(user=user)[0]
    except IntegrityError:
        raise Gone(_("the user was deleted in the meantime")) from None


def _refuse(row: WrongCodes, at: datetime, *, is_recovery_code: bool) -> None:
    if row.number >= LOCKS and not is_recovery_code:
        raise CodeEntryLocked(
            _("too many wrong codes: use a recovery code, or ask an administrator to unlock code entry")
        )
    if seconds := seconds_until(row.blocked_until, at):
        raise _too_many(seconds)


def _too_many(seconds: int) -> TooManyAttempts:
    refusal = TooManyAttempts(_("too many failed attempts: wait before the next"), retry_after_seconds=seconds)
    refusal.scopes = (SCOPE,)
    return refusal
