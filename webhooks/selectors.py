"""Queries of webhook rows. Read-only."""

from datetime import datetime

from django.conf import settings
from django.db.models import Count, Q

from audit.event_kinds import EventKind, EventSeverity
from gatewall.credentials.sealing import SealBroken, Sealer
from webhooks.models import Delivery, DeliveryStatus, Mail, Webhook

_RANKS = {severity: rank for rank, severity in enumerate(EventSeverity)}


def number_of_failed(start: datetime, end: datetime) -> int:
    """Return the number of failed deliveries in this period."""
    return Delivery.objects.filter(status=DeliveryStatus.FAILED, created_at__gte=start, created_at__lt=end).count()


def number_of_failing() -> int:
    """Return the number of enabled webhooks that currently fail."""
    return Webhook.objects.filter(enabled=True, failing_since__isnull=False).count()


def number_of_unsent_mails(start: datetime, end: datetime) -> tuple[int, int]:
    """Return how many mails of this period were given up, and how many wait after a failed attempt, in one query."""
    given_up = Q(status=DeliveryStatus.FAILED, created_at__gte=start, created_at__lt=end)
    waiting = Q(status=DeliveryStatus.WAITING) & ~Q(failure="")
    found = Mail.objects.aggregate(failed=Count("pk", filter=given_up), waiting=Count("pk", filter=waiting))
    return found["failed"], found["waiting"]


def wants(webhook: Webhook, kind: EventKind) -> bool:
    """Return whether the webhook receives events of this kind, by its severity and its kinds."""
    is_chosen = not webhook.kinds or kind.value in webhook.kinds
    return is_chosen and matters(kind, EventSeverity(webhook.least_severity))


def matters(kind: EventKind, least: EventSeverity) -> bool:
    """Return whether events of this kind are at least this severe."""
    return _RANKS[kind.severity] >= _RANKS[least]


def sealing_context(webhook_id: int) -> str:
    """Return the sealing context, which binds a secret to its webhook's row."""
    return f"webhook:{webhook_id}"


def opened(webhook: Webhook, sealed: str) -> bytes | None:
    """Return the decrypted secret of a webhook, or None."""
    try:
        return Sealer(settings.GATEWALL_DATA_KEYS).open(sealed, context=sealing_context(webhook.pk))
    except SealBroken:
        return None
