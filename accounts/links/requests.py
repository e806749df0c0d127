"""Request one-time links: an admin for a user, or a visitor for their own account."""

from dataclasses import dataclass, field
from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from accounts.links import links
from accounts.models import LinkPurpose, User
from accounts.sign_in import events
from accounts.visitor import Visitor
from audit.event_kinds import EventKind
from audit.events.recording import Event, EventCount, count_events, mark_of, record_event
from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.refusals import Conflict

FLOW = "password-reset"
MAX_ACCOUNTS = 10
"""Maximum number of accounts with the same e-mail address that get a mail each."""
_LONGEST = 254
_KINDS = {
    LinkPurpose.INVITATION: EventKind.USER_INVITED,
    LinkPurpose.PASSWORD_RESET: EventKind.PASSWORD_RESET_REQUESTED,
}


class MailNotConfigured(Conflict):
    """There is no mail server: only an administrator can provide a link."""

    code = "mail-not-configured"


class UserDisabled(Conflict):
    """A disabled user cannot use a link."""

    code = "user-disabled"


@dataclass(frozen=True, slots=True)
class Offer:
    """A link for a user: sent to their address or, if ``sent_to`` is empty, returned once to hand over."""

    sent_to: str = ""
    link: str = field(default="", repr=False)
    expires_at: datetime | None = None


def has_mail() -> bool:
    """Return whether Gatewall can send mail."""
    return settings.GATEWALL_MAIL_SERVER is not None


@transaction.atomic
def offer(
    user: User,
    purpose: LinkPurpose,
    *,
    actor: str,
    at: datetime,
    origin: str,
    choose_username: bool = False,
    hand_over: bool = False,
) -> Offer:
    """Send a user a link; without mail, or with ``hand_over``, return it once for the admin to hand over.

    ``origin``: the origin of the link if no public URL is configured, as the admin's browser reaches the pages there.
    Raises UserDisabled, Gone.
    """
    if not user.is_active:
        raise UserDisabled(_("%(user)s is disabled: enable the account first"), user=user.username)
    by_hand = hand_over or not has_mail() or not user.email
    detail: dict[str, object] = {"actor": actor, "by_hand": by_hand, "account": "known"}
    if purpose is LinkPurpose.INVITATION:
        detail["choose_username"] = choose_username
    record_event(Event(_KINDS[purpose], at, user=user, detail=detail))
    if not by_hand:
        return Offer(sent_to=user.email)
    issued = links.issue(user, purpose, at=at, created_by=actor, may_rename=choose_username)
    return Offer(link=links.url_of(issued, settings.GATEWALL_PUBLIC_URL or origin), expires_at=issued.row.expires_at)


def ask_reset(account: str, *, visitor: Visitor, at: datetime) -> None:
    """Send a reset link to the accounts with this name or e-mail address; do not reveal whether there are any.

    An unknown account causes the same statements, even a mail in the queue, which the agent drops. Each request counts
    as a failed attempt under its own key (``throttling``). Raises MailNotConfigured, TooManyAttempts.
    """
    if not has_mail():
        raise MailNotConfigured(_("this site sends no mail: ask your administrator for a link"))
    text = account.strip()[:_LONGEST] if account.isprintable() else ""
    events.attempt(f"{FLOW} {text}", visitor, at, flow=FLOW)
    named = Q(username__iexact=text) | (Q(email__iexact=text) & ~Q(email=""))
    users: list[User | None] = list(User.objects.filter(named, is_active=True).order_by("pk")[:MAX_ACCOUNTS])
    count_events(_requested(user, number, text, visitor, at) for number, user in enumerate(users or [None]))


def _requested(user: User | None, number: int, text: str, visitor: Visitor, at: datetime) -> EventCount:
    """Return the event, counted by the typed text, so that unknown and known accounts insert the same rows."""
    detail = {"account": "known" if user else events.UNKNOWN}
    event = Event(EventKind.PASSWORD_RESET_REQUESTED, at, visitor.client_ip, user, detail=detail)
    mark = mark_of(text.casefold())
    return EventCount(event, f"{mark} {number}", mark=mark)
