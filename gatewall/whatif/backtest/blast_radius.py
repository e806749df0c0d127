"""Blast radius of a block: who recently used the address, network or country. Read-only.

A network with few rows is selected by its index. Otherwise the newest rows are searched within a budget, and the result
has the start of the search.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, F, Max, Q, QuerySet

from audit.log.query import FEW
from audit.models import AccessLog
from audit.querying.field_filters import client, country
from gatewall.engine.model import Effect, SubjectKind
from gatewall.policy import system_settings

SPAN = timedelta(days=30)
BUDGET = 300_000
SHOWN = 100


@dataclass(frozen=True, slots=True)
class BlastRadius:
    """Subjects that would be blocked: users first, then machines, the latest first; ``since``: start of the search.

    ``visitors``: kind, id and name of a subject let in with a credential, ``count`` of requests and ``last_at``.
    ``is_cut``: the search was limited by the budget. ``is_complete``: it covers the whole span.
    """

    since: datetime
    is_cut: bool
    is_complete: bool
    users: int
    machines: int
    requests: int
    visitors: list[dict[str, Any]]


def of_network(network: str, now: datetime) -> BlastRadius:
    """Return who was let in from an address or network in the last 30 days. Raises Refused."""
    condition, begin = client(network), _begin(now)
    rows = AccessLog.objects.filter(condition, at__gte=begin)
    if not rows.order_by()[FEW : FEW + 1].exists():
        return _radius(rows, begin, now)
    return _search_newest(condition, now)


def of_country(code: str, now: datetime) -> BlastRadius:
    """Return who was let in from a country in the last 30 days. Raises Refused."""
    return _search_newest(country().condition(code), now)


def _begin(now: datetime) -> datetime:
    """Return the start of the search: the start of the span or of the log, whichever is later."""
    return now - min(SPAN, timedelta(days=system_settings.current().access_log_retention_days))


def _search_newest(condition: Q, now: datetime) -> BlastRadius:
    begin = _begin(now)
    rows = AccessLog.objects.filter(at__gte=begin)
    edge = rows.order_by("-at", "-decision_id").values_list("at", flat=True)[BUDGET : BUDGET + 1]
    since = next(iter(edge), None)
    if since is None:
        return _radius(rows.filter(condition), begin, now)
    return _radius(AccessLog.objects.filter(condition, at__gt=since), since, now, is_cut=True)


def _radius(rows: QuerySet[AccessLog], since: datetime, now: datetime, *, is_cut: bool = False) -> BlastRadius:
    let_in = rows.filter(outcome=Effect.ALLOW.value, subject_kind__isnull=False).order_by()
    each = let_in.values(kind=F("subject_kind"), id=F("subject_id")).annotate(
        count=Count("decision_id"), last_at=Max("at"), name=Max("subject_name")
    )
    is_user = Q(subject_kind=SubjectKind.USER.value)
    people, machines = each.filter(is_user), each.filter(~is_user)
    visitors: list[Any] = [*people.order_by("-last_at")[:SHOWN], *machines.order_by("-last_at")[:SHOWN]]
    total = let_in.aggregate(requests=Count("decision_id"))["requests"]
    is_complete = since <= now - SPAN
    return BlastRadius(since, is_cut, is_complete, people.count(), machines.count(), total, visitors[:SHOWN])
