"""Create, change and delete webhooks. Rows store secrets encrypted."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from audit.event_kinds import EventKind, EventSeverity
from audit.events.recording import Event, record_event
from gatewall.credentials.sealing import Sealer
from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.changes import Change, describe, difference
from gatewall.kernel.downloads import ANYWHERE, PUBLIC, DownloadRefused, Reach, require_acceptable
from gatewall.kernel.refusals import Conflict, Gone
from gatewall.policy import revisions
from policies import rows
from policies.rows import Duplicate
from webhooks import outbox, selectors, signing
from webhooks.models import Delivery, Webhook
from webhooks.outbox import Draft

MAX_WEBHOOKS = 20
"""Each webhook has its own sending thread, so that a slow one does not delay the others."""
ROTATION = timedelta(hours=24)
"""How long messages are also signed with the previous secret."""
TEST = "webhook.test"
BY_ITSELF = "webhooks"
"""Actor of automatic changes."""


class TooManyWebhooks(Conflict):
    """The maximum number of webhooks exists."""

    code = "too-many-webhooks"


class WebhookDisabled(Conflict):
    """The webhook is disabled."""

    code = "webhook-disabled"


class OutboxFull(Conflict):
    """The outbox is full, or the hourly limit is reached."""

    code = "outbox-full"


def reach_of(*, allow_private: bool) -> Reach:
    """Return which addresses a webhook may use."""
    return ANYWHERE if allow_private else PUBLIC


@revisions.one_at_a_time
def create_webhook(*, actor: str, **values: Any) -> tuple[Webhook, str]:
    """Create a webhook; return it with its secret. Raises ValidationError, Duplicate, TooManyWebhooks."""
    if Webhook.objects.count() >= MAX_WEBHOOKS:
        raise TooManyWebhooks(f"there are at most {MAX_WEBHOOKS} webhooks: delete one that is not needed")
    webhook, secret = Webhook(created_by=actor), signing.new_secret()
    _write(webhook, values)
    _set_secret(webhook, secret)
    webhook.save(update_fields=["sealed_secret"])
    _advance(actor, difference(None, describe(webhook)))
    return webhook, signing.shown(secret)


@revisions.one_at_a_time
def change_webhook(webhook: Webhook, *, actor: str, **values: Any) -> Webhook:
    """Change a webhook, except its secret. Raises ValidationError, Duplicate, Gone."""
    outbox.hold(webhook.pk)  # the sender writes delivery state into the same row
    webhook = revisions.as_it_is_now(webhook)
    before, was_enabled = describe(webhook), webhook.enabled
    if values.get("url", webhook.url) != webhook.url or values.get("enabled", was_enabled) != was_enabled:
        values |= {"failing_since": None, "failure": ""}
    _write(webhook, values)
    if was_enabled and not webhook.enabled:
        outbox.give_up(webhook.pk, "the webhook was switched off")
    _advance(actor, difference(before, describe(webhook)))
    return webhook


@revisions.one_at_a_time
def rotate_secret(webhook: Webhook, *, actor: str) -> tuple[Webhook, str]:
    """Rotate the secret of a webhook; return it. The previous secret signs for another day. Raises Gone."""
    webhook, secret = revisions.as_it_is_now(webhook), signing.new_secret()
    before = describe(webhook)
    webhook.sealed_previous, webhook.previous_until = webhook.sealed_secret, timezone.now() + ROTATION
    _set_secret(webhook, secret)
    webhook.save(update_fields=["sealed_secret", "sealed_previous", "previous_until"])
    _advance(actor, difference(before, before, noted={"secret": "changed"}))
    return webhook, signing.shown(secret)


@revisions.one_at_a_time
def delete_webhook(webhook: Webhook, *, actor: str) -> None:
    """Delete a webhook with its deliveries. Raises Gone."""
    outbox.hold(webhook.pk)
    rows.delete(webhook, actor=actor)


@revisions.one_at_a_time
def switch_off(webhook_id: int, *, why: str) -> None:
    """Disable a webhook that keeps failing, and record an event. Idempotent."""
    webhook = Webhook.objects.filter(pk=webhook_id, enabled=True).first()
    if webhook is None:
        return
    before = describe(webhook)
    webhook.enabled = False
    webhook.save(update_fields=["enabled"])
    outbox.give_up(webhook.pk, "the webhook was switched off")
    detail = {"webhook": webhook.pk, "name": webhook.name, "why": why}
    record_event(Event(EventKind.WEBHOOK_DISABLED, timezone.now(), detail=detail))
    _advance(BY_ITSELF, difference(before, describe(webhook)))


@transaction.atomic
def send_test(webhook: Webhook, *, actor: str) -> Delivery:
    """Queue a test notice. Raises WebhookDisabled, OutboxFull, Gone."""
    webhook = _enabled(webhook.pk)
    data = {"webhook": webhook.pk, "name": webhook.name, "actor": actor}
    made = outbox.put([Draft(TEST, timezone.now(), lambda: data, [webhook])])
    if not made:
        raise OutboxFull("the webhook's outbox is full, or its hourly limit is reached")
    return made[0]


@transaction.atomic
def resend(delivery: Delivery) -> Delivery:
    """Send a notice again under the same message id. Raises WebhookDisabled, Gone."""
    _enabled(delivery.webhook_id)
    return outbox.send_again(delivery)


def _enabled(webhook_id: int) -> Webhook:
    webhook = Webhook.objects.select_for_update().filter(pk=webhook_id).first()
    if webhook is None:
        raise Gone("the webhook was deleted in the meantime")
    if not webhook.enabled:
        raise WebhookDisabled("the webhook is switched off: nothing is sent to it")
    return webhook


def _write(webhook: Webhook, values: dict[str, Any]) -> None:
    for name, value in values.items():
        setattr(webhook, name, value)
    webhook.full_clean(exclude={"sealed_secret"}, validate_unique=False, validate_constraints=False)
    try:
        require_acceptable(webhook.url, reach_of(allow_private=webhook.allow_private))
    except DownloadRefused as refused:
        raise ValidationError({"url": str(refused)}) from None
    least = EventSeverity(webhook.least_severity)
    milder = [kind for kind in EventKind if not selectors.matters(kind, least)]
    if never := [kind for kind in webhook.kinds if kind in milder]:
        raise ValidationError({"least_severity": f"{', '.join(never)} would never be sent: less severe than {least}"})
    try:
        with transaction.atomic():
            webhook.save()
    except IntegrityError:
        raise Duplicate(_("%(row)s already exists"), row=repr(webhook.name)) from None


def _set_secret(webhook: Webhook, secret: bytes) -> None:
    context = selectors.sealing_context(webhook.pk)
    webhook.sealed_secret = Sealer(settings.GATEWALL_DATA_KEYS).seal(secret, context=context)


def _advance(actor: str, change: Change | None) -> None:
    revisions.advance(actor=actor, changes=[change])
