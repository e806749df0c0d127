"""Transactional outbox of webhook notices, one row per notice and webhook."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from gatewall.policy import system_settings
from webhooks import notices, selectors
from webhooks.models import Delivery, DeliveryStatus, Incident, Notice, Webhook
from webhooks.retrying import OTHER_CLOCK, Schedule, as_waiting, lease

MAX_WAITING = 1_000
"""Maximum number of waiting notices per webhook; further ones are dropped and counted."""
RETRIES = (*(timedelta(seconds=30 * 4**number) for number in range(6)), timedelta(hours=12))
"""Delay after each failed attempt: 23 hours in all."""
SCHEDULE = Schedule(RETRIES)
_PRUNED_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Draft:
    """A notice to create; ``data`` is lazy, as most events have no receiver."""

    type: str
    at: datetime
    data: Callable[[], dict[str, object]]
    webhooks: Collection[Webhook]
    incident: Incident | None = None
    id: UUID = field(default_factory=uuid4)


@dataclass(frozen=True, slots=True)
class Claimed:
    """A delivery claimed by this host until its ``next_at``, with webhook, notice, and signing keys."""

    delivery: Delivery
    keys: tuple[bytes, ...] = field(repr=False)

    @property
    def webhook_id(self) -> int:
        return self.delivery.webhook_id


def put(drafts: Iterable[Draft], *, is_limited: bool = True) -> list[Delivery]:
    """Add notices to outboxes with room; return the deliveries. Runs in the caller's transaction."""
    now, capacity, left_out = timezone.now(), _Capacity(), Counter[int]()
    made, deliveries = [], []
    for draft in drafts:
        receivers = [webhook for webhook in draft.webhooks if not is_limited or capacity.take(webhook.pk, now)]
        left_out.update(webhook.pk for webhook in draft.webhooks if webhook not in receivers)
        if not receivers:
            continue
        body = notices.body_of(draft.type, draft.at, draft.data())
        notice = Notice(id=draft.id, type=draft.type, incident=draft.incident, created_at=now, body=body)
        made.append(notice)
        deliveries += [Delivery(webhook=receiver, notice=notice, created_at=now, next_at=now) for receiver in receivers]
    Notice.objects.bulk_create(made)
    Delivery.objects.bulk_create(deliveries)
    for pk, number in sorted(left_out.items()):
        Webhook.objects.filter(pk=pk).update(left_out=F("left_out") + number)
    return deliveries


class _Capacity:
    """Remaining capacity of each outbox."""

    def __init__(self) -> None:
        self._left: dict[int, int] = {}

    def take(self, webhook_id: int, at: datetime) -> bool:
        """Take one place in the outbox; return False if it is full."""
        if webhook_id not in self._left:
            own = Delivery.objects.filter(webhook_id=webhook_id)
            of_hour = own.filter(created_at__gt=at - timedelta(hours=1), created_at__lt=at + OTHER_CLOCK).count()
            waiting = own.filter(status=DeliveryStatus.WAITING).count()
            most = system_settings.current().webhook_notices_per_hour
            self._left[webhook_id] = min(most - of_hour, MAX_WAITING - waiting)
        self._left[webhook_id] -= 1
        return self._left[webhook_id] >= 0


def is_waiting() -> bool:
    """Return whether any delivery waits, due or not."""
    return Delivery.objects.filter(status=DeliveryStatus.WAITING).exists()


def claim(at: datetime, *, busy: Collection[int]) -> list[Claimed]:
    """Claim due deliveries, at most one per idle webhook; each is leased to one host."""
    due = Delivery.objects.filter(SCHEDULE.is_due(at), status=DeliveryStatus.WAITING, webhook__enabled=True)
    idle = set(due.order_by().values_list("webhook_id", flat=True).distinct()) - set(busy)
    found = (_claim_first(due.filter(webhook_id=webhook_id), at) for webhook_id in sorted(idle))
    return [claimed for claimed in found if claimed is not None]


def _claim_first(due: QuerySet[Delivery], at: datetime) -> Claimed | None:
    delivery = due.select_related("notice", "webhook").order_by("next_at", "id").first()
    if delivery is None or not lease(delivery, at):
        return None
    return Claimed(delivery, _keys(delivery.webhook, at))


def _keys(webhook: Webhook, at: datetime) -> tuple[bytes, ...]:
    """Return the signing keys, the current one first; empty if it cannot be decrypted."""
    is_rotating = webhook.sealed_previous and webhook.previous_until and webhook.previous_until > at
    sealed = [webhook.sealed_secret, *([webhook.sealed_previous] if is_rotating else [])]
    keys = [selectors.opened(webhook, text) for text in sealed]
    return () if keys[0] is None else tuple(key for key in keys if key is not None)


def note_delivered(claimed: Claimed, status: int, at: datetime) -> None:
    """Record a successful delivery."""
    values = {"status": DeliveryStatus.DELIVERED, "next_at": None, "response_status": status, "failure": ""}
    with transaction.atomic():
        hold(claimed.webhook_id)
        if as_waiting(claimed.delivery).update(**values):
            Webhook.objects.filter(pk=claimed.webhook_id).update(succeeded_at=at, failing_since=None, failure="")


def note_failed(claimed: Claimed, status: int | None, failure: str, at: datetime, *, is_final: bool = False) -> None:
    """Record a failed attempt and schedule the next one, if any is left."""
    values = {"response_status": status, **SCHEDULE.after_failure(claimed.delivery, failure, at, is_final=is_final)}
    with transaction.atomic():
        hold(claimed.webhook_id)
        if as_waiting(claimed.delivery).update(**values):
            own = Webhook.objects.filter(pk=claimed.webhook_id)
            own.update(failure=failure[:500])
            own.filter(failing_since=None).update(failing_since=at)


def hold(webhook_id: int) -> None:
    """Lock a webhook's row until the end of the transaction.

    Lock it before changing deliveries, to avoid deadlocks.
    """
    list(Webhook.objects.select_for_update(no_key=True).filter(pk=webhook_id).values_list("pk"))


def give_up(webhook_id: int, why: str) -> int:
    """Fail the waiting deliveries of a webhook; return how many. They can be resent manually."""
    waiting = Delivery.objects.filter(webhook_id=webhook_id, status=DeliveryStatus.WAITING)
    return waiting.update(status=DeliveryStatus.FAILED, next_at=None, failure=why)


def send_again(delivery: Delivery) -> Delivery:
    """Schedule a delivery again, at once, under the same message id and with all retries."""
    Delivery.objects.filter(pk=delivery.pk).update(
        status=DeliveryStatus.WAITING, next_at=timezone.now(), attempts=0, failure="", response_status=None
    )
    delivery.refresh_from_db()
    return delivery


def prune(at: datetime) -> int:
    """Delete old notices with their deliveries, and old incidents, at most 1,000 of each; return how many rows.

    Keeps notices of open incidents: the notice of the end goes to the same webhooks.
    """
    before = at - timedelta(days=system_settings.current().webhook_retention_days)
    aged = Notice.objects.filter(created_at__lt=before, incident__open_key=None)
    old = aged.order_by("created_at").values_list("pk", flat=True)
    over = Incident.objects.filter(open_key=None, ends_at__lt=before).values_list("pk", flat=True)
    deleted = 0
    for model, keys in ((Notice, old), (Incident, over)):
        chosen: list[UUID] = list(keys[:_PRUNED_AT_ONCE])
        deleted += model.objects.filter(pk__in=chosen).delete()[0] if chosen else 0
    return deleted
