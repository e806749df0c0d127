"""Queue a mail for each security event of which its user is notified, in the event's transaction.

Admins get the mail about an access request.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db.models import QuerySet

from audit.event_kinds import EventKind
from audit.events.recording import Event, EventCount
from gatewall.policy import system_settings
from webhooks.mail import queue
from webhooks.models import Mail, MailKind

BY_HAND = "by_hand"
"""Field of an event's detail: an admin hands the link over."""
_FIELDS = frozenset({"actor", "choose_username", "user_agent", "wrong_codes", "provider", "days", "host", "request"})
"""Fields of an event's detail that the mail uses."""
_LINK_KINDS = frozenset({MailKind.INVITATION, MailKind.PASSWORD_RESET})
_REQUEST_OUTCOMES = frozenset({MailKind.ACCESS_GRANTED, MailKind.ACCESS_REFUSED})
MAX_APPROVERS = 20
"""Maximum number of admins who get a mail about an access request: the oldest accounts."""


def _unless_by_hand(kind: MailKind) -> Callable[[Event], MailKind | None]:
    return lambda event: None if event.detail.get(BY_HAND) else kind


def _if_used_before(event: Event) -> MailKind | None:
    """Return no mail for an account that nobody has signed in to: an invitation sets its first password."""
    return MailKind.PASSWORD_CHANGED if getattr(event.user, "last_login_at", None) else None


def _if_new_device(event: Event) -> MailKind | None:
    return MailKind.NEW_DEVICE if event.detail.get("new_device") else None


def _if_wrong_codes(event: Event) -> MailKind | None:
    return MailKind.WRONG_CODES if event.detail.get("detector") == "wrong-codes" else None


KINDS: Mapping[EventKind, Callable[[Event], MailKind | None]] = {
    EventKind.USER_INVITED: _unless_by_hand(MailKind.INVITATION),
    EventKind.PASSWORD_RESET_REQUESTED: _unless_by_hand(MailKind.PASSWORD_RESET),
    EventKind.PASSWORD_CHANGED: _if_used_before,
    EventKind.LOGIN_SUCCEEDED: _if_new_device,
    EventKind.TWO_FACTOR_ENABLED: lambda _: MailKind.FACTOR_ADDED,
    EventKind.TWO_FACTOR_DISABLED: lambda _: MailKind.FACTOR_REMOVED,
    EventKind.TWO_FACTOR_RECOVERED: lambda _: MailKind.FACTOR_REMOVED,
    EventKind.TOTP_DEVICE_ADDED: lambda _: MailKind.FACTOR_ADDED,
    EventKind.TOTP_DEVICE_REMOVED: lambda _: MailKind.FACTOR_REMOVED,
    EventKind.PASSKEY_ADDED: lambda _: MailKind.FACTOR_ADDED,
    EventKind.PASSKEY_REMOVED: lambda _: MailKind.FACTOR_REMOVED,
    EventKind.DEVICE_REMEMBERED: lambda _: MailKind.DEVICE_REMEMBERED,
    EventKind.IDENTITY_LINKED: lambda _: MailKind.IDENTITY_LINKED,
    EventKind.IDENTITY_UNLINKED: lambda _: MailKind.IDENTITY_UNLINKED,
    EventKind.CLIENT_SUSPECTED: _if_wrong_codes,
    EventKind.ACCESS_REQUESTED: lambda _: MailKind.ACCESS_REQUESTED,
    EventKind.ACCESS_GRANTED: lambda _: MailKind.ACCESS_GRANTED,
    EventKind.ACCESS_REFUSED: lambda _: MailKind.ACCESS_REFUSED,
}
"""The mail of each kind of event, by a function of the event; None for no mail."""


def create_mails(event_counts: Sequence[EventCount]) -> None:
    """Queue the mails of security events. Does nothing without a mail server."""
    if settings.GATEWALL_MAIL_SERVER is None:
        return
    if mails := [mail for event_count in event_counts for mail in _mails(event_count)]:
        queue.put(mails)


def _mails(event_count: EventCount) -> list[Mail]:
    event = event_count.event
    kind = KINDS[event.kind](event) if event.kind in KINDS else None
    if kind is None:
        return []
    detail = {name: value for name, value in event.detail.items() if name in _FIELDS} | {"client_ip": event.client_ip}
    if event.decision_id is not None:
        detail |= {"decision_id": str(event.decision_id), "asker": str(event.user or "")}
    return [Mail(kind=kind, user_id=reader, at=event_count.moment, detail=detail) for reader in _readers(kind, event)]


def _readers(kind: MailKind, event: Event) -> list[int | None]:
    """Return the ids of the users who get the mail; None for an unknown account, so that timing does not reveal it."""
    if kind == MailKind.ACCESS_REQUESTED:
        return list(_approvers()[:MAX_APPROVERS])
    if kind in _LINK_KINDS:
        return [event.user.pk if event.user else None]
    has_address = bool(getattr(event.user, "email", ""))
    is_wanted = has_address and (kind in _REQUEST_OUTCOMES or system_settings.current().account_notices)
    return [event.user.pk] if event.user and is_wanted else []


def _approvers() -> "QuerySet[Any, int | None]":
    users = get_user_model()._default_manager  # noqa: SLF001 - public by its documentation
    return users.filter(is_admin=True, is_active=True).exclude(email="").order_by("pk").values_list("pk", flat=True)
