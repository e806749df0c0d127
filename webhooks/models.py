"""Models of webhooks, incidents and the outbox."""

import json
import uuid
from typing import Any

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from audit.event_kinds import EventKind, EventSeverity
from gatewall.kernel.changes import Recorded, Resource, api_fields
from gatewall.models import Record, choices
from webhooks.validators import validate_kinds, validate_url


class DeliveryStatus(models.TextChoices):
    """Status of a delivery."""

    WAITING = "waiting", "waiting"
    DELIVERED = "delivered", "delivered"
    FAILED = "failed", "failed"


class Queued(models.Model):
    """A row that waits to be sent. A sender first moves ``next_at`` by a lease."""

    status = models.CharField(max_length=16, choices=DeliveryStatus, default=DeliveryStatus.WAITING)
    created_at = models.DateTimeField(default=timezone.now)
    next_at = models.DateTimeField(null=True)
    attempts = models.PositiveIntegerField(default=0)
    tried_at = models.DateTimeField(null=True)
    failure = models.CharField(max_length=500, blank=True)

    class Meta:
        abstract = True


class Webhook(Record):
    """An endpoint, the events that it receives, and its sealed secrets.

    ``failing_since`` and later fields are delivery state, written by the sender, outside of revisions.
    """

    name = models.CharField(max_length=100, unique=True)
    url = models.CharField(max_length=1000, validators=[validate_url])
    kinds = models.JSONField(
        default=list, blank=True, validators=[validate_kinds], help_text="Kinds of events to send; empty means all."
    )
    least_severity = models.CharField(max_length=16, choices=choices(EventSeverity), default=EventSeverity.HIGH.value)
    enabled = models.BooleanField(default=True)
    allow_private = models.BooleanField(default=False, help_text="Allow http and addresses that are not public.")
    remark = models.CharField(max_length=500, blank=True)
    sealed_secret = models.CharField(max_length=255, editable=False)
    sealed_previous = models.CharField(max_length=255, blank=True, editable=False)
    previous_until = models.DateTimeField(null=True, editable=False)
    failing_since = models.DateTimeField(null=True, editable=False)
    succeeded_at = models.DateTimeField(null=True, editable=False)
    failure = models.CharField(max_length=500, blank=True, editable=False)
    left_out = models.PositiveBigIntegerField(default=0, editable=False)

    recorded = Recorded(
        Resource.WEBHOOKS, api_fields("name", "url", "kinds", "least_severity", "enabled", "allow_private", "remark")
    )

    class Meta:
        verbose_name = _("webhook")
        verbose_name_plural = _("webhooks")
        ordering = ["id"]

    def __str__(self) -> str:
        return self.name


class Incident(models.Model):
    """Consecutive events of one kind about one client, account or host.

    ``open_key`` is unique among open incidents. An incident lasts until ``ends_at`` or until its ``ban`` is lifted.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    kind = models.CharField(max_length=32, choices=choices(EventKind))
    open_key = models.CharField(max_length=120, null=True, unique=True)
    began_at = models.DateTimeField()
    last_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    count = models.BigIntegerField()
    ban = models.BigIntegerField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["kind", "open_key"], name="incident_by_kind"),
            models.Index(fields=["ends_at"], name="incident_by_end", condition=models.Q(open_key__isnull=False)),
        ]


class Notice(models.Model):
    """A message as signed and sent. Body and id are immutable."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    type = models.CharField(max_length=48)
    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, null=True, related_name="notices")
    created_at = models.DateTimeField(default=timezone.now)
    body = models.TextField()

    class Meta:
        indexes = [models.Index(fields=["created_at"], name="notice_by_time")]

    @property
    def message_id(self) -> str:
        return f"msg_{self.id.hex}"

    @property
    def data(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(self.body)["data"]
        return data


class Delivery(Queued):
    """A notice in the outbox of one webhook."""

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    notice = models.ForeignKey(Notice, on_delete=models.CASCADE, related_name="deliveries")
    response_status = models.PositiveSmallIntegerField(null=True)

    class Meta:
        verbose_name = _("delivery")
        verbose_name_plural = _("deliveries")
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["webhook", "notice"], name="notice_is_once_in_an_outbox")]
        indexes = [
            models.Index(fields=["status", "next_at", "webhook"], name="delivery_by_turn"),
            models.Index(fields=["webhook", "created_at"], name="delivery_by_time"),
        ]


class MailKind(models.TextChoices):
    """Kinds of mails to users. The first two have a one-time link."""

    INVITATION = "invitation", "invitation"
    PASSWORD_RESET = "password-reset", "password reset"
    NEW_DEVICE = "new-device", "new device"
    FACTOR_ADDED = "factor-added", "factor added"
    FACTOR_REMOVED = "factor-removed", "factor removed"
    PASSWORD_CHANGED = "password-changed", "password changed"
    WRONG_CODES = "wrong-codes", "wrong codes"
    DEVICE_REMEMBERED = "device-remembered", "device remembered"
    IDENTITY_LINKED = "identity-linked", "identity linked"
    IDENTITY_UNLINKED = "identity-unlinked", "identity unlinked"
    ACCESS_REQUESTED = "access-requested", "access requested"
    ACCESS_GRANTED = "access-granted", "access granted"
    ACCESS_REFUSED = "access-refused", "access refused"


class Mail(Queued):
    """A mail to a user, waiting or sent. Its text and link are created when it is sent, and never stored.

    A row without a user is never sent: a password reset was requested for an unknown account, and must take the same
    time as for a known one. ``detail``: facts about the event for the text, like the client's address.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    kind = models.CharField(max_length=32, choices=MailKind)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="mails")
    at = models.DateTimeField()
    detail = models.JSONField(default=dict)

    class Meta:
        verbose_name = _("mail")
        verbose_name_plural = _("mails")
        ordering = ["-created_at", "id"]
        indexes = [
            models.Index(fields=["status", "next_at"], name="mail_by_turn"),
            models.Index(fields=["created_at"], name="mail_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} to {self.user}"
