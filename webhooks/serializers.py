"""Serializers of webhooks and deliveries. A secret is shown once."""

from typing import Any

from rest_framework import serializers

from audit.event_kinds import EventKind, EventSeverity
from audit.events.revision_events import url_without_path
from gatewall.api.filters import Filters, ListFilters, at_or_after, before, flag, is_set, one_of, text
from gatewall.api.fresh_sign_in import FreshInput
from gatewall.api.serializers import FlagField, ShapedField, StrictInput, TextField
from webhooks.models import Delivery, DeliveryStatus, Webhook

BECAME = ("previous_until", "failing_since", "succeeded_at", "failure", "left_out")
"""Fields that rotation and delivery change."""


class WebhookInput(FreshInput):
    """Input of a webhook."""

    name = TextField(max_length=100)
    url = TextField(max_length=1000)
    kinds = serializers.ListField(
        child=serializers.ChoiceField(choices=[kind.value for kind in EventKind]),
        max_length=len(EventKind),
        required=False,
    )
    least_severity = serializers.ChoiceField(choices=[each.value for each in EventSeverity], required=False)
    enabled = FlagField(required=False)
    allow_private = FlagField(required=False)
    remark = TextField(max_length=500, allow_blank=True, required=False)


class WebhookOutput(serializers.ModelSerializer[Webhook]):
    """A webhook and its delivery state."""

    kinds = ShapedField({"type": "array", "items": {"enum": [kind.value for kind in EventKind]}})

    class Meta:
        model = Webhook
        fields = ("id", "created_at", "created_by", *WebhookInput(partial=True).fields, *BECAME)

    def to_representation(self, instance: Webhook) -> dict[str, Any]:
        """Return the webhook; auditors see its URL without the path, which may be secret."""
        shown = super().to_representation(instance)
        if "request" in self.context and not self.context["request"].user.is_staff:
            shown["url"] = url_without_path(instance.url)
        return shown


class SecretShownOnce(serializers.Serializer[Any]):
    """The new webhook with its secret, returned once."""

    secret = serializers.CharField()


class SecretRotated(WebhookOutput):
    """A webhook with its new secret."""

    secret = serializers.CharField()

    class Meta(WebhookOutput.Meta):
        fields = (*WebhookOutput.Meta.fields, "secret")


class RotateInput(FreshInput):
    """Input to rotate the secret: the password or a code, unless the sign-in is fresh."""


class NothingInput(StrictInput):
    """A body without fields."""


class DeliveryOutput(serializers.ModelSerializer[Delivery]):
    """A delivery: a notice in the outbox of a webhook."""

    message_id = serializers.CharField(source="notice.message_id", read_only=True)
    type = serializers.CharField(source="notice.type")
    status = serializers.ChoiceField(choices=DeliveryStatus.values)

    class Meta:
        model = Delivery
        fields: tuple[str, ...] = (
            *("id", "message_id", "type", "status", "created_at", "attempts", "tried_at", "next_at"),
            *("response_status", "failure"),
        )


class DeliveryWithDataOutput(DeliveryOutput):
    """A delivery with the data of its notice."""

    data = ShapedField(  # type: ignore[assignment]  # DRF removes a declared field from its class
        {"type": "object", "additionalProperties": True}, source="notice.data", read_only=True
    )

    class Meta(DeliveryOutput.Meta):
        fields = (*DeliveryOutput.Meta.fields, "data")


class WebhookFilters(ListFilters):
    """Filters of the list of webhooks."""

    name, url = text("name", max_length=100), text("url", max_length=1000)
    least_severity = one_of("least_severity", EventSeverity)
    enabled, allow_private = flag("enabled"), flag("allow_private")
    failing = is_set("failing_since")


class DeliveryFilters(Filters):
    """Filters of a webhook's deliveries."""

    status = one_of("status", DeliveryStatus)
    type = text("notice__type", max_length=48)
    created_at_after, created_at_before = at_or_after("created_at"), before("created_at")
