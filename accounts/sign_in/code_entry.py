"""Verify second-factor codes. Every attempt, from any form or API call, is counted here.

Wrong codes count like wrong passwords (``throttling``) and, consecutively, per account (``wrong_codes``).
"""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from accounts.models import User
from accounts.sign_in import challenges, events, totp, wrong_codes
from accounts.sign_in.throttling import Attempt, TooManyAttempts
from accounts.sign_in.wrong_codes import CodeEntryLocked, Try
from accounts.visitor import Visitor
from audit.event_kinds import EventKind
from audit.events.recording import Event, record_event


@dataclass(frozen=True, slots=True)
class Entry:
    """An entered code, counted as wrong in advance; call the method for the result of its check."""

    user: User
    client_ip: str
    at: datetime
    flow: str
    attempt: Attempt
    counted: Try

    def record_wrong(self) -> None:
        """Record a wrong code; after ten in a row end the open challenges of the account."""
        number = self.counted.number
        events.wrong_code(self.user, self.client_ip, self.at, flow=self.flow)
        if number >= wrong_codes.ENDS_CHALLENGES:
            challenges.end_all(self.user, at=self.at)
        if number in {wrong_codes.ENDS_CHALLENGES, wrong_codes.LOCKS}:
            events.many_wrong_codes(
                self.user, self.client_ip, self.at, flow=self.flow, number=number, locks=number == wrong_codes.LOCKS
            )

    def uncount(self) -> None:
        """Uncount the entry: the code was not checked, or was correct without effect."""
        self.attempt.uncount()
        self.counted.take_back()

    def record_right(self) -> None:
        """Uncount the entry and reset the count of wrong codes."""
        self.attempt.uncount()
        wrong_codes.forget(self.user)

    def succeeded(self) -> None:
        """Uncount the entry and reset the failures of this account from this network: the sign-in is complete."""
        self.attempt.succeeded()
        wrong_codes.forget(self.user)


def begin(user: User, code: str, visitor: Visitor, at: datetime, *, flow: str) -> Entry:
    """Count a code before it is checked. Raises TooManyAttempts, CodeEntryLocked, Gone, without counting."""
    try:
        counted = wrong_codes.take(user, at, is_recovery_code=not totp.is_code(code))
    except (TooManyAttempts, CodeEntryLocked):
        events.locked(user.username, visitor.client_ip, at, flow=flow, scopes=[wrong_codes.SCOPE])
        raise
    try:
        attempt = events.attempt(user.username, visitor, at, flow=flow)
    except TooManyAttempts:
        counted.take_back()
        raise
    return Entry(user, visitor.client_ip, at, flow, attempt, counted)


@transaction.atomic
def unlock(user: User, *, actor: str, client_ip: str | None = None) -> None:
    """Reset the count of wrong codes on an admin's request, so that codes are accepted again."""
    wrong_codes.forget(user)
    record_event(
        Event(EventKind.USER_CHANGED, None, client_ip, user, detail={"actor": actor, "code_entry": "unlocked"})
    )
