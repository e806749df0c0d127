"""Security events of sign-ins. The typed username is not stored."""

from collections.abc import Sequence
from datetime import datetime

from accounts import selectors, throttling
from accounts.models import User
from accounts.throttling import Attempt, TooManyAttempts
from audit.event_kinds import EventKind
from audit.events.recording import Event, count_event, mark_of, record_event
from audit.spool.masking import masked_text
from audit.spool.records import storable

WRONG = "invalid-credentials"
UNKNOWN = "unknown"
_LONGEST_AGENT = 256


def attempt(username: str, client_ip: str, at: datetime, *, flow: str, is_at_home: bool = False) -> Attempt:
    """Count an attempt before it is looked at, as ``throttling.attempt()`` does; one that may not be made is told.

    Raises TooManyAttempts.
    """
    try:
        return throttling.attempt(username, client_ip, at, is_at_home=is_at_home)
    except TooManyAttempts as refusal:
        locked(username, client_ip, at, flow=flow, scopes=refusal.scopes)
        raise


def locked(username: str, client_ip: str, at: datetime, *, flow: str, scopes: Sequence[str]) -> None:
    """Record an attempt that may not be made yet; ``scopes`` says whose count was too high."""
    detail: dict[str, object] = {"flow": flow, "scopes": list(scopes)}
    _count(EventKind.LOGIN_LOCKED, username, client_ip, at, detail, key="".join(scopes))


def failed(username: str, client_ip: str, at: datetime, *, flow: str, why: str = WRONG) -> None:
    """Tell of a sign-in with a wrong name or password, or (``why``) one that was refused all the same."""
    _count(EventKind.LOGIN_FAILED, username, client_ip, at, {"flow": flow, "why": why}, key=why)


def wrong_code(user: User, client_ip: str, at: datetime, *, flow: str) -> None:
    """Tell of a wrong code of the second factor."""
    _count(EventKind.TWO_FACTOR_FAILED, user.username, client_ip, at, {"flow": flow})


def many_wrong_codes(user: User, client_ip: str, at: datetime, *, flow: str, number: int, locks: bool) -> None:
    """Record that somebody who knows the password may be guessing codes, or is their owner: nobody is banned."""
    told = {"detector": "wrong-codes", "why": "right-password", "flow": flow, "wrong_codes": number, "locked": locks}
    record_event(Event(EventKind.CLIENT_SUSPECTED, at, client_ip, user, detail=told))


def recovery_refused(username: str, client_ip: str, at: datetime, *, why: str) -> None:
    """Tell of somebody who was refused to take the second factor from an account."""
    _count(EventKind.RECOVERY_REFUSED, username, client_ip, at, {"why": why}, key=why)


def succeeded(user: User, client_ip: str, at: datetime, *, flow: str, amr: tuple[str, ...], user_agent: str) -> None:
    """Tell of a completed sign-in, in the transaction of its session."""
    detail = {"flow": flow, "amr": list(amr), "user_agent": storable(masked_text(user_agent), _LONGEST_AGENT)}
    record_event(Event(EventKind.LOGIN_SUCCEEDED, at, client_ip, user, detail=detail))


def _count(
    kind: EventKind, username: str, client_ip: str, at: datetime, detail: dict[str, object], *, key: str = ""
) -> None:
    """Count it by account. Names of no account are one: people type passwords there; a digest tells them apart."""
    user = selectors.user_by_name(username)
    account = UNKNOWN if user is None else str(user.pk)
    told = {**detail, "account": "known" if user else UNKNOWN}
    count_event(Event(kind, at, client_ip, user, detail=told), f"{account} {key}", mark=mark_of(username.casefold()))
