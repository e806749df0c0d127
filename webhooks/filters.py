"""Filters of the lists of webhooks and deliveries."""

from audit.event_kinds import EventSeverity
from gatewall.api.filters import Filters, ListFilters, at_or_after, before, flag, is_set, one_of, text
from webhooks.models import DeliveryStatus


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
