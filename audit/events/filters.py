"""Filters of the security events, from URL parameters, in the syntax of the access log's filters."""

import re
import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django.db.models import Q

from audit.event_kinds import EventKind, EventSeverity
from audit.querying import field_filters
from audit.querying.field_filters import (
    Filter,
    Filters,
    client,
    country,
    like,
    none,
    number,
    one_of,
    parameters_of,
    text,
)
from gatewall.engine.messages import gettext_noop as _
from gatewall.engine.model import Reason

_UUID = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}", re.ASCII)


def _reason(value: str) -> Q:
    # NULL if the key is missing: the second condition makes a negation match those rows.
    return Q(detail__reason=value) & Q(detail__reason__isnull=False)


EVENT_FILTERS: Mapping[str, Filter] = {
    "kind": one_of(tuple(EventKind), lambda value: Q(kind=value)),
    "severity": one_of(tuple(EventSeverity), lambda value: Q(severity=value)),
    "client_ip": Filter(client, none("client_ip") & none("client_key")),  # client_key has an index
    "country_code": country(),
    "user": text("user_name", empty=none("user_name")),
    "user_id": number("user_id", empty=none("user_id")),
    "count_min": number("count__gte", excludes=False),
    "count_max": number("count__lte", excludes=False),
    "reason": one_of(tuple(Reason), _reason, empty=none("detail__reason")),
    "decision_id": like(_UUID, _("a UUID"), lambda value: Q(decision_id=uuid.UUID(value)), empty=none("decision_id")),
}
"""The filter of each parameter; ``reason`` is the decision reason in ``request.blocked`` events."""

EVENT_PARAMETERS: Mapping[str, Mapping[str, Any]] = parameters_of(EVENT_FILTERS)
_IN_ORDER = ("user_id", "client_ip", "kind")


def filters_of(parameters: Iterable[tuple[str, str]], *, start: datetime | None, end: datetime | None) -> Filters:
    """Return the filters from these parameters, from ``start`` (inclusive) to ``end``. Raises FilterRefused."""
    return field_filters.filters_of(EVENT_FILTERS, parameters, start=start, end=end, in_order=_IN_ORDER)
