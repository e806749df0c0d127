"""Record security events of sign-ins, without the typed username."""

from collections.abc import Sequence
from datetime import datetime

from accounts import known_browsers, selectors
from accounts.models import User
from accounts.sign_in import throttling
from accounts.sign_in.throttling import Attempt, TooManyAttempts
from accounts.visitor import Visitor
from audit.event_kinds import EventKind
from audit.events.recording import Event, count_event, mark_of, record_event
from audit.spool.masking import masked_text
from audit.spool.records import storable

WRONG = "invalid-credentials"
UNKNOWN = "unknown"
_LONGEST_AGENT = 256


def attempt(username: str, visitor: Visitor, at: datetime, *, flow: str) -> Attempt:
    """Count an attempt in advance, as ``throttling.attempt()`` does; record a refused one. Raises TooManyAttempts."""
    try:
        return throttling.attempt(username, visitor.client_ip, at, is_local=visitor.is_at_this_machine)
    except TooManyAttempts as refusal:
        locked(username, visitor.client_ip, at, flow=flow, scopes=refusal.scopes)
        raise


def locked(username: str, client_ip: str, at: datetime, *, flow: str, scopes: Sequence[str]) -> None:
    """Record a throttled attempt; ``scopes`` are the exceeded counts."""
    detail: dict[str, object] = {"flow": flow, "scopes": list(scopes)}
    _count(EventKind.LOGIN_LOCKED, username, client_ip, at, detail, key="".join(scopes))


def failed(username: str, client_ip: str, at: datetime, *, flow: str, why: str = WRONG) -> None:
    """Record a failed sign-in: wrong name or password, or another reason (``why``)."""
    _count(EventKind.LOGIN_FAILED, username, client_ip, at, {"flow": flow, "why": why}, key=why)


def wrong_code(user: User, client_ip: str, at: datetime, *, flow: str) -> None:
    """Record a wrong second-factor code."""
    _count(EventKind.TWO_FACTOR_FAILED, user.username, client_ip, at, {"flow": flow})


def passkey_refused(user: User | None, client_ip: str, at: datetime, *, flow: str, why: str) -> None:
    """Record a refused answer of an authenticator; ``user`` is the passkey's, None for an unknown one."""
    _count(EventKind.PASSKEY_REFUSED, user.username if user else "", client_ip, at, {"flow": flow, "why": why}, key=why)


def passkey_cloned(user: User, client_ip: str, at: datetime, *, flow: str, name: str) -> None:
    """Record that the counter of a passkey did not increase: the passkey may have been copied."""
    record_event(Event(EventKind.PASSKEY_CLONED, at, client_ip, user, detail={"flow": flow, "passkey": name}))


def many_wrong_codes(user: User, client_ip: str, at: datetime, *, flow: str, number: int, locks: bool) -> None:
    """Record many wrong codes after a correct password: an attacker who knows it, or the owner. Bans no client."""
    fields = {"detector": "wrong-codes", "why": "right-password", "flow": flow, "wrong_codes": number, "locked": locks}
    record_event(Event(EventKind.CLIENT_SUSPECTED, at, client_ip, user, detail=fields))


def recovery_refused(username: str, client_ip: str, at: datetime, *, why: str) -> None:
    """Record a refused recovery of a second factor."""
    _count(EventKind.RECOVERY_REFUSED, username, client_ip, at, {"why": why}, key=why)


def succeeded(
    user: User, visitor: Visitor, at: datetime, *, flow: str, amr: tuple[str, ...], is_remembered: bool = False
) -> None:
    """Record a completed sign-in, in the transaction of its session; ``user`` as loaded before."""
    detail: dict[str, object] = {"flow": flow, "amr": list(amr)}
    detail["user_agent"] = storable(masked_text(visitor.user_agent), _LONGEST_AGENT)
    if known_browsers.is_new(user, visitor, at):
        detail["new_device"] = True
    if is_remembered:
        detail["remembered_device"] = True
    record_event(Event(EventKind.LOGIN_SUCCEEDED, at, visitor.client_ip, user, detail=detail))


def _count(
    kind: EventKind, username: str, client_ip: str, at: datetime, detail: dict[str, object], *, key: str = ""
) -> None:
    """Count the event by account. Unknown names, which may be passwords, share one row; a digest separates them."""
    user = selectors.user_by_name(username)
    account = UNKNOWN if user is None else str(user.pk)
    fields = {**detail, "account": "known" if user else UNKNOWN}
    count_event(Event(kind, at, client_ip, user, detail=fields), f"{account} {key}", mark=mark_of(username.casefold()))
