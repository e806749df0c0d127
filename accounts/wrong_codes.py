"""Limit wrong second-factor codes per account, over all networks, flows, processes and hosts.

Entering a code takes the password or a live session, so a stranger cannot lock an owner out by this limit. The limit
holds wherever the codes come from: an attacker with enough tries guesses six digits (RFC 6238 section 5.2, RFC 4226
section 7.3, NIST SP 800-63B section 5.2.2).

Five wrong codes in a row are free; from the sixth on each begins a delay, which doubles up to an hour. At 100 in a row
no code of an authenticator app is accepted any more. Recovery codes (80 random bits) still are, at the same pace. A try
is counted before its code is checked and uncounted unless the code was wrong, so parallel guesses get no more tries.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import IntegrityError

from accounts.models import User, WrongCodes
from accounts.selectors import CODES_LOCK
from accounts.throttling import LONGEST_DELAY, Limit, TooManyAttempts, blocked_until, seconds_until
from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.refusals import Forbidden, Gone
from gatewall.policy import system_settings

FREE = 5
ENDS_CHALLENGES = 10
LOCKS = CODES_LOCK
SCOPE = "code"
_MOST_CHANGES = 1_000  # of others between reading and writing; the delays end such a race long before


class CodeEntryLocked(Forbidden):
    """There were too many wrong codes in a row: an admin, recovery or a recovery code ends this."""

    code = "code-entry-locked"


@dataclass(frozen=True, slots=True)
class Try:
    """A try, counted as the wrong code number ``number`` in a row until it is taken back."""

    user_id: int
    number: int
    before: datetime | None
    blocked_until: datetime | None

    def take_back(self) -> None:
        """Uncount it, with the delay that it began: nobody has checked the code, or nothing came of the right one."""
        unchanged = {"number": self.number, "blocked_until": self.blocked_until}
        WrongCodes.objects.filter(user_id=self.user_id, **unchanged).update(
            number=self.number - 1, blocked_until=self.before
        )


def take(user: User, at: datetime, *, is_recovery_code: bool = False) -> Try:
    """Count a wrong code before it is checked. Raises TooManyAttempts, CodeEntryLocked, Gone, and counts nothing then.

    The row changes by one conditional update: of any number of tries at once, as many are counted as may be checked.
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
    """Begin to count anew: a right code completed a sign-in, or the second factor is another one, or none."""
    WrongCodes.objects.filter(user=user).update(number=0, blocked_until=None)


def follow_the_clock(at: datetime) -> int:
    """End delays that a clock began which was put back since, within an hour; return how many rows that deletes: 0."""
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
