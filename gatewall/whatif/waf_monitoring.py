"""WAF monitoring report: requests that the WAF would have refused at a domain, by rule and host, with exemptions.

Monitoring ends without this module, because ``waf_monitor_until`` is part of the policy. The agent only reports the
end.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Q
from django.urls import get_resolver, reverse

from audit.event_kinds import EventKind
from audit.events.recording import Event, record_event
from audit.log import at_domain
from audit.models import AccessLog
from audit.querying import keyset
from audit.spool.rows import record_of_row
from gatewall.api.own_origins import public_urls
from gatewall.engine.hosts import Domain, DomainTable, Host
from gatewall.engine.model import Action
from gatewall.whatif.exemptions import offers
from gatewall.whatif.offers import Kind, Offer
from gatewall.whatif.replay_record import decide_again
from gatewall.whatif.shapes import moment_text
from policies.models import AuthorizedDomain, WafRule
from policies.policy_source import domains

USUAL_DAYS = 7
MAX_DAYS = 90
MOST_READ = 10_000
MOST_SHOWN = 20
_MOST_OFFERS = 10
_EXAMPLES = 3
_MOST_PATHS = 3
_SHIPPED_AFTER = timedelta(seconds=10)
"""Time after the end of a window until its last records are in the database."""
_TOO_LATE = timedelta(days=30)


@dataclass(slots=True)
class Found:
    """Requests of one rule or host that would have been refused, the newest first."""

    count: int = 0
    clients: set[str] = field(default_factory=set)
    hosts: set[str] = field(default_factory=set)
    paths: Counter[str] = field(default_factory=Counter)
    examples: list[AccessLog] = field(default_factory=list)

    def add(self, row: AccessLog) -> None:
        self.count += 1
        self.clients.add(row.client_ip)
        self.hosts.add(row.host or "")
        self.paths[row.path] += 1
        if len(self.examples) < _EXAMPLES:
            self.examples.append(row)

    @property
    def top_paths(self) -> list[str]:
        return [path for path, _ in self.paths.most_common(_MOST_PATHS)]


@dataclass(frozen=True, slots=True)
class RuleFound:
    """A rule that would have refused requests, and the narrowest exemption for the newest of them, if any."""

    id: int
    name: str
    found: Found
    offer: Offer | None


@dataclass(frozen=True, slots=True)
class Report:
    """Requests at a domain in a window that would have been refused, the newest ``MOST_READ`` unless complete."""

    start: datetime
    end: datetime
    total: int
    clients: int
    is_complete: bool
    rules: list[RuleFound]
    hosts: list[tuple[str, Found]]


def report_of(domain: AuthorizedDomain, end: datetime, days: int = USUAL_DAYS) -> Report:
    """Return the requests that the WAF would have refused at the domain in the days before ``end``."""
    start = end - timedelta(days=days)
    rows, is_complete = _rows(domain, start, end)
    rules: dict[int, Found] = {}
    names: dict[int, str] = {}
    hosts: dict[str, Found] = {}
    recording = set(WafRule.objects.filter(action=Action.MONITOR.value).values_list("pk", flat=True))
    for row in rows:
        hosts.setdefault(row.host or "", Found()).add(row)
        for rule in row.rules:
            if rule["id"] not in recording:
                names.setdefault(rule["id"], rule["name"])
                rules.setdefault(rule["id"], Found()).add(row)
    ordered = sorted(rules.items(), key=lambda each: (-each[1].count, each[0]))[:MOST_SHOWN]
    return Report(
        start=start,
        end=end,
        total=len(rows),
        clients=len({row.client_ip for row in rows}),
        is_complete=is_complete,
        rules=[
            RuleFound(id_, names[id_], found, _offer(id_, found) if number < _MOST_OFFERS else None)
            for number, (id_, found) in enumerate(ordered)
        ],
        hosts=sorted(hosts.items(), key=lambda each: (-each[1].count, each[0]))[:MOST_SHOWN],
    )


def _rows(domain: AuthorizedDomain, start: datetime, end: datetime) -> tuple[list[AccessLog], bool]:
    """Return the newest requests at the domain that would have been refused, and whether these are all."""
    name = domain.name
    rows = AccessLog.objects.filter(would_refuse__isnull=False, at__gte=start, at__lt=end)
    scanned, rest = at_domain.rows_at(name, rows)
    page = keyset.walk(scanned, rest, None, MOST_READ, at_domain.SCANS * MOST_READ)
    table = DomainTable(domains())
    own = {host for host in {row.host or "" for row in page.rows} if _name_of(table.match(Host(host))) == name}
    return [row for row in page.rows if row.host in own], page.next is None


def _name_of(domain: Domain | None) -> str | None:
    return domain.name if domain else None


def _offer(rule_id: int, found: Found) -> Offer | None:
    """Return the exclusion that would have let in the newest request, None if there is none any more."""
    record = record_of_row(found.examples[0])
    possible = offers(record, decide_again(record))
    return next((each for each in possible if each.kind is Kind.EXCLUSION and each.row == rule_id), None)


def report_ended(at: datetime) -> int:
    """Record an event for each domain whose monitoring has ended, each end once; return how many."""
    is_new = Q(waf_monitor_reported__isnull=True) | ~Q(waf_monitor_reported=F("waf_monitor_until"))
    ended = AuthorizedDomain.objects.filter(
        is_new, waf_monitor_until__gt=at - _TOO_LATE, waf_monitor_until__lte=at - _SHIPPED_AFTER
    )
    if found := list(ended):
        get_resolver().url_patterns  # noqa: B018 - the links import all pages into the agent: do it before it takes locks
    return sum(_report_end(domain, ended.filter(pk=domain.pk)) for domain in found)


@transaction.atomic
def _report_end(domain: AuthorizedDomain, still: Iterable[AuthorizedDomain]) -> bool:
    until = domain.waf_monitor_until
    rows = AuthorizedDomain.objects.filter(pk__in=[each.pk for each in still], waf_monitor_until=until)
    if until is None or not rows.update(waf_monitor_reported=until):
        return False  # another agent reported it
    report = report_of(domain, until)
    detail = {
        "domain": domain.name,
        "until": moment_text(until.timestamp()),
        "would_refuse": report.total,
        "clients": report.clients,
        "rules": [{"id": each.id, "name": each.name, "count": each.found.count} for each in report.rules[:10]],
        "report": "".join(public_urls()[:1]) + reverse("console:waf-report", args=[domain.pk]),
    }
    record_event(Event(EventKind.WAF_MONITORING_ENDED, detail=detail))
    return True
