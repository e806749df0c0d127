"""Queries of the security events: pages, events of a network, failed sign-ins. Read-only."""

from collections.abc import Collection
from datetime import datetime

from django.db.models import Q, QuerySet

from audit.event_kinds import EventKind
from audit.models import AccessLog, SecurityEvent
from audit.querying import keyset
from audit.querying.field_filters import Filters
from audit.querying.keyset import COUNT_BUDGET, Cursor, Page
from audit.spool.rows import client_key
from gatewall.engine.addresses import IPNetwork
from gatewall.engine.model import Effect

SCAN_BUDGET = 20_000
MOST_ROWS = 20_000
"""Maximum number of rows of failed sign-ins. Windows of the detectors have fewer: three kinds of 1,000 a minute."""


def page_of(filters: Filters, after: Cursor | None, size: int, *, budget: int = SCAN_BUDGET) -> Page[SecurityEvent]:
    """Return the next page of matching events, newest first, at bounded cost (``audit/querying/keyset.py``)."""
    rows = SecurityEvent.objects.filter(filters.moments & filters.index)
    return keyset.walk(rows, filters.network & filters.rest, after, size, budget)


def number_of(filters: Filters, *, budget: int = COUNT_BUDGET) -> int | None:
    """Return the number of matching events, None if counting would scan more rows than the budget."""
    rows = SecurityEvent.objects.filter(filters.moments & filters.index)
    return keyset.number_of(rows, filters.network & filters.rest, budget)


def was_let_in(network: IPNetwork, since: datetime) -> bool:
    """Return whether a client of the network has signed in or used a valid credential since then."""
    clients = _clients_of(network)
    signed_in = SecurityEvent.objects.filter(clients, kind=EventKind.LOGIN_SUCCEEDED, at__gte=since)
    entered = AccessLog.objects.filter(clients, at__gte=since, outcome=Effect.ALLOW, subject_id__isnull=False)
    return signed_in.exists() or entered.exists()


def events_of_network(kind: EventKind, network: IPNetwork, since: datetime) -> QuerySet[SecurityEvent]:
    """Return the events of a kind about clients of the network since then."""
    return SecurityEvent.objects.filter(_clients_of(network), kind=kind, at__gte=since)


def newest_of(kinds: Collection[EventKind], start: datetime, end: datetime, number: int) -> list[SecurityEvent]:
    """Return the newest events of these kinds in a window."""
    rows = SecurityEvent.objects.filter(kind__in=kinds, at__gte=start, at__lt=end)
    return list(rows.order_by("-at", "-id")[:number])


def failed_sign_ins(since: datetime) -> list[SecurityEvent]:
    """Return the newest rows of failed sign-ins since then, oldest first."""
    kinds = (EventKind.LOGIN_FAILED, EventKind.LOGIN_LOCKED, EventKind.TWO_FACTOR_FAILED)
    rows = SecurityEvent.objects.filter(kind__in=kinds, at__gte=since, client_key__isnull=False)
    return list(rows.order_by("-at", "-id")[:MOST_ROWS])[::-1]


def _clients_of(network: IPNetwork) -> Q:
    first, last = (client_key(str(end)) for end in (network.network_address, network.broadcast_address))
    return Q(client_key__gte=first, client_key__lte=last)
