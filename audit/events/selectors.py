"""Security events and access log entries of a network, and failed sign-ins. Read-only."""

from datetime import datetime

from django.db.models import Q, QuerySet

from audit.event_kinds import EventKind
from audit.models import AccessLog, SecurityEvent
from audit.spool.rows import client_key
from gatewall.engine.addresses import IPNetwork
from gatewall.engine.model import Effect

MOST_ROWS = 20_000
"""Limit for failed sign-ins. The detectors' windows hold less: three kinds of 1,000 rows a minute."""


def was_let_in(network: IPNetwork, since: datetime) -> bool:
    """Return whether a client of the network has signed in or used a valid credential since then."""
    clients = _clients_of(network)
    signed_in = SecurityEvent.objects.filter(clients, kind=EventKind.LOGIN_SUCCEEDED, at__gte=since)
    entered = AccessLog.objects.filter(clients, at__gte=since, outcome=Effect.ALLOW, subject_id__isnull=False)
    return signed_in.exists() or entered.exists()


def events_of_network(kind: EventKind, network: IPNetwork, since: datetime) -> QuerySet[SecurityEvent]:
    """Return the events of a kind about clients of the network since then."""
    return SecurityEvent.objects.filter(_clients_of(network), kind=kind, at__gte=since)


def failed_sign_ins(since: datetime) -> list[SecurityEvent]:
    """Return the newest rows of failed sign-ins since then, oldest first."""
    kinds = (EventKind.LOGIN_FAILED, EventKind.LOGIN_LOCKED, EventKind.TWO_FACTOR_FAILED)
    rows = SecurityEvent.objects.filter(kind__in=kinds, at__gte=since, client_key__isnull=False)
    return list(rows.order_by("-at", "-id")[:MOST_ROWS])[::-1]


def _clients_of(network: IPNetwork) -> Q:
    first, last = (client_key(str(end)) for end in (network.network_address, network.broadcast_address))
    return Q(client_key__gte=first, client_key__lte=last)
