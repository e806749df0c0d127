"""Log history of a user who asks for access, and what a grant would have opened. Read-only, bounded."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from audit.log import at_domain
from audit.models import AccessLog
from gatewall.engine.access_rules.paths import covers, trimmed
from gatewall.engine.hosts import Domain, DomainTable, Host
from gatewall.engine.model import Effect, SubjectKind
from gatewall.whatif.offers import Offer
from policies.models import RequestForAccess
from policies.policy_source import domains

DAYS = 30
MAX_READ = 1_000
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class History:
    """The newest answers to a person: how many of each reason, the hosts, and their earlier access requests."""

    read: int
    is_complete: bool
    reasons: list[tuple[str, int]]
    hosts: list[tuple[str, int]]
    earlier: list[RequestForAccess]


@dataclass(frozen=True, slots=True)
class Opened:
    """What a grant would have opened: refused requests of the person, and paths of the site that anybody requested."""

    own: int
    paths: list[str]
    number_of_paths: int


def history_of(user: Any, at: datetime, *, besides: RequestForAccess | None = None) -> History:
    """Return the user's log history of the last 30 days, from at most 1,000 answers."""
    rows = _of_person(user, at).values_list("reason", "host")[: MAX_READ + 1]
    found = list(rows)
    reasons = Counter(reason for reason, _host in found[:MAX_READ])
    hosts = Counter(host for _reason, host in found[:MAX_READ] if host)
    others = user.access_requests.exclude(pk=besides.pk) if besides else user.access_requests.all()
    return History(
        read=min(len(found), MAX_READ),
        is_complete=len(found) <= MAX_READ,
        reasons=reasons.most_common(_SHOWN),
        hosts=hosts.most_common(_SHOWN),
        earlier=list(others.select_related("domain")[:_SHOWN]),
    )


def opened_by(offer: Offer, user: Any, at: datetime) -> Opened:
    """Return what a grant would have opened in the last 30 days, from at most 1,000 answers of each kind."""
    table, name = DomainTable(domains()), offer.domain or ""
    own = _of_person(user, at).filter(outcome=Effect.DENY.value).values_list("host", "path")[:MAX_READ]
    anybody = AccessLog.objects.filter(at__gte=at - timedelta(days=DAYS), outcome=Effect.ALLOW.value)
    seen, _since = at_domain.newest_values(name, anybody, ("at", "host", "path"), MAX_READ)
    paths = Counter(path for _at, host, path in seen if _is_opened(offer, table, host, path))
    return Opened(
        own=sum(_is_opened(offer, table, host, path) for host, path in own),
        paths=[path for path, _number in paths.most_common(_SHOWN)],
        number_of_paths=len(paths),
    )


def _of_person(user: Any, at: datetime) -> Any:
    rows = AccessLog.objects.filter(subject_id=user.pk, at__gte=at - timedelta(days=DAYS))
    return rows.filter(subject_kind=SubjectKind.USER.value).order_by("-at")


def _is_opened(offer: Offer, table: DomainTable, host: str | None, path: str) -> bool:
    domain: Domain | None = table.match(Host(host)) if host else None
    if domain is None or domain.name != offer.domain:
        return False
    return offer.path is None or covers((offer.path,), trimmed(path))
