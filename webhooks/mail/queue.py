"""Queue of mails to users: claimed, retried for three days, and pruned later."""

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db.models import Q
from django.utils import timezone

from audit.event_kinds import EventKind
from audit.events.recording import Event, count_event
from gatewall.kernel.smtp import Sent
from gatewall.policy import system_settings
from webhooks.models import DeliveryStatus, Mail, MailKind
from webhooks.retrying import OTHER_CLOCK, Schedule, as_waiting, lease

logger = logging.getLogger(__name__)

MAX_WAITING = 10_000
"""Maximum number of waiting mails; above it only invitations are added."""
SCHEDULE = Schedule((*(timedelta(seconds=30 * 4**number) for number in range(4)), *(timedelta(hours=1),) * 71))
"""Delay after each failed attempt: soon at first, then every hour, three days in all."""
RESETS_PER_HOUR = 3
"""Maximum number of mails with a reset link to one account; further ones are dropped."""
_TRIES = 3
_PRUNED_AT_ONCE = 1_000


def put(mails: Iterable[Mail]) -> None:
    """Add mails to the queue, in the caller's transaction."""
    chosen = list(mails)
    if any(mail.kind != MailKind.INVITATION for mail in chosen) and _is_full():
        logger.error("the mail queue is full: only invitations are added")
        chosen = [mail for mail in chosen if mail.kind == MailKind.INVITATION]
    now = timezone.now()
    for mail in chosen:
        mail.created_at = mail.next_at = now
    Mail.objects.bulk_create(chosen)


def _is_full() -> bool:
    return Mail.objects.filter(status=DeliveryStatus.WAITING).count() >= MAX_WAITING


def is_waiting() -> bool:
    """Return whether any mail waits, due or not."""
    return Mail.objects.filter(status=DeliveryStatus.WAITING).exists()


def claim(at: datetime) -> Mail | None:
    """Claim the mail that has waited longest, with its user; None if none is due. It is leased to one host."""
    due = Mail.objects.filter(SCHEDULE.is_due(at), status=DeliveryStatus.WAITING)
    for _ in range(_TRIES):
        mail = due.select_related("user").order_by("next_at", "created_at").first()
        if mail is None:
            return None
        if lease(mail, at):
            return mail
    return None


def is_wanted(mail: Mail) -> bool:
    """Return whether to send the mail: it has a recipient, and no later mail replaces it.

    Of several waiting reset mails only the newest is sent, as its link replaces the others', and at most three an hour.
    """
    if mail.user is None or not mail.user.is_active or not mail.user.email:
        return False
    if mail.kind not in {MailKind.INVITATION, MailKind.PASSWORD_RESET}:
        return True
    alike = Mail.objects.filter(user=mail.user, kind=mail.kind).exclude(pk=mail.pk)
    if alike.filter(created_at__gt=mail.created_at, status=DeliveryStatus.WAITING).exists():
        return False
    hour = Q(created_at__gt=mail.created_at - timedelta(hours=1), created_at__lt=mail.created_at + OTHER_CLOCK)
    return mail.kind != MailKind.PASSWORD_RESET or alike.filter(hour).count() < RESETS_PER_HOUR


def discard(mail: Mail) -> None:
    """Delete a mail that is not to be sent."""
    Mail.objects.filter(pk=mail.pk).delete()


def settle(mail: Mail, sent: Sent, at: datetime) -> None:
    """Record the result of an attempt, and an event if the mail is given up."""
    if not sent.failure:
        as_waiting(mail).update(status=DeliveryStatus.DELIVERED, next_at=None, failure="")
        return
    values = SCHEDULE.after_failure(mail, sent.failure, at, is_final=sent.is_final)
    has_changed = as_waiting(mail).update(**values)
    if has_changed and values.get("status") == DeliveryStatus.FAILED:
        detail = {"mail": mail.kind, "why": sent.failure, "attempts": mail.attempts}
        count_event(Event(EventKind.MAIL_FAILED, at, user=mail.user, detail=detail), f"{mail.user_id} {mail.kind}")


def prune(at: datetime) -> int:
    """Delete mails older than the retention time of webhook notices, at most 1,000; return how many."""
    before = at - timedelta(days=system_settings.current().webhook_retention_days)
    old = Mail.objects.filter(created_at__lt=before).order_by("created_at").values_list("pk", flat=True)
    return Mail.objects.filter(pk__in=list(old[:_PRUNED_AT_ONCE])).delete()[0]
