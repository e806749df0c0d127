"""Verify codes of the second factor. Every attempt, from any form or call, is counted here.

Wrong codes count like wrong passwords (``throttling``) and, in a row, for their account (``wrong_codes``).
"""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from accounts import challenges, second_factor, sign_in_events, wrong_codes
from accounts.models import User
from accounts.throttling import Attempt, TooManyAttempts
from accounts.wrong_codes import CodeEntryLocked, Try
from audit.event_kinds import EventKind
from audit.events.recording import Event, record_event


@dataclass(frozen=True, slots=True)
class Entry:
    """A code that is counted as wrong before it is checked; call one of the methods with the result."""

    user: User
    client_ip: str
    at: datetime
    flow: str
    attempt: Attempt
    counted: Try

    def was_wrong(self) -> None:
        """Record the wrong code; from the tenth in a row on it ends the challenges of the account."""
        number = self.counted.number
        sign_in_events.wrong_code(self.user, self.client_ip, self.at, flow=self.flow)
        if number >= wrong_codes.ENDS_CHALLENGES:
            challenges.end_all(self.user, at=self.at)
        if number in {wrong_codes.ENDS_CHALLENGES, wrong_codes.LOCKS}:
            sign_in_events.many_wrong_codes(
                self.user, self.client_ip, self.at, flow=self.flow, number=number, locks=number == wrong_codes.LOCKS
            )

    def was_no_failure(self) -> None:
        """Uncount it: nobody has checked it, or nothing came of the right one."""
        self.attempt.was_no_failure()
        self.counted.take_back()

    def was_right(self) -> None:
        """Uncount it and begin to count wrong codes anew: whoever has the second factor is here."""
        self.attempt.was_no_failure()
        wrong_codes.forget(self.user)

    def succeeded(self) -> None:
        """Forget also the failures of this account from this network: the code completed a sign-in."""
        self.attempt.succeeded()
        wrong_codes.forget(self.user)


def begin(user: User, code: str, client_ip: str, at: datetime, *, flow: str, is_at_home: bool) -> Entry:
    """Count a code before it is checked. Raises TooManyAttempts, CodeEntryLocked, Gone, and counts nothing then."""
    try:
        counted = wrong_codes.take(user, at, is_recovery_code=not second_factor.is_app_code(code))
    except (TooManyAttempts, CodeEntryLocked):
        sign_in_events.locked(user.username, client_ip, at, flow=flow, scopes=[wrong_codes.SCOPE])
        raise
    try:
        attempt = sign_in_events.attempt(user.username, client_ip, at, flow=flow, is_at_home=is_at_home)
    except TooManyAttempts:
        counted.take_back()
        raise
    return Entry(user, client_ip, at, flow, attempt, counted)


@transaction.atomic
def unlock(user: User, *, actor: str, client_ip: str | None = None) -> None:
    """Begin to count wrong codes anew, as an admin may ask for: code entry is open again."""
    wrong_codes.forget(user)
    record_event(
        Event(EventKind.USER_CHANGED, None, client_ip, user, detail={"actor": actor, "code_entry": "unlocked"})
    )
