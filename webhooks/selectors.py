"""Queries of webhook rows. Read-only."""

from datetime import datetime

from django.conf import settings
from django.db.models import QuerySet

from audit.event_kinds import SEVERITIES, EventKind, EventSeverity
from gatewall.credentials.sealing import SealBroken, Sealer
from webhooks.models import Delivery, DeliveryStatus, Webhook

_RANKS = {severity: rank for rank, severity in enumerate(EventSeverity)}


def webhooks() -> QuerySet[Webhook]:
    """Return the webhooks."""
    return Webhook.objects.all()


def deliveries_of(webhook_id: int) -> QuerySet[Delivery]:
    """Return the outbox of a webhook, the last notice first, with what was sent."""
    return Delivery.objects.filter(webhook_id=webhook_id).select_related("notice")


def number_of_failed(start: datetime, end: datetime) -> int:
    """Return how many notices of this time were given up."""
    return Delivery.objects.filter(status=DeliveryStatus.FAILED, created_at__gte=start, created_at__lt=end).count()


def number_of_failing() -> int:
    """Return how many webhooks that are switched on cannot be reached at the moment."""
    return Webhook.objects.filter(enabled=True, failing_since__isnull=False).count()


def wants(webhook: Webhook, kind: EventKind) -> bool:
    """True if the webhook is told of events of this kind: it is severe enough and, if it chose kinds, one of them."""
    is_chosen = not webhook.kinds or kind.value in webhook.kinds
    return is_chosen and matters(kind, EventSeverity(webhook.least_severity))


def matters(kind: EventKind, least: EventSeverity) -> bool:
    """True if events of this kind are at least this severe."""
    return _RANKS[SEVERITIES[kind]] >= _RANKS[least]


def sealing_context(webhook_id: int) -> str:
    """Return what a secret is bound to: moved to another webhook's row, it does not open."""
    return f"webhook:{webhook_id}"


def opened(webhook: Webhook, sealed: str) -> bytes | None:
    """Return a secret of this webhook, or None while it cannot be opened."""
    try:
        return Sealer(settings.GATEWALL_DATA_KEYS).open(sealed, context=sealing_context(webhook.pk))
    except SealBroken:
        return None
