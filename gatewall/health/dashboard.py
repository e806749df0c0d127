"""Figures of the dashboard for its page (``dashboard_data``) and the API (``figures``). Read-only.

They read the roll-ups of the access log, never its rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from accounts import selectors as accounts
from audit.counting.summaries import Summary
from audit.event_kinds import EventKind
from audit.events import statistics as event_statistics
from audit.figures import statistics
from audit.figures.statistics import Bar, Window, rules_of
from audit.serializers import as_items, outcomes_of, timeline_of
from gatewall.engine.addresses import parse_address
from gatewall.health.indicators import log_backlog
from gatewall.health.uptime import started_at
from gatewall.models import Node
from gatewall.policy import revisions
from gatewall.publication import nodes as reports
from gatewall.publication.control_plane import sources_of
from gatewall.snapshot.host_paths import node_name
from licensing import selectors as licensing
from policies import geo
from policies import selectors as policies
from policies.models import AuthorizedDomain, BlocklistEntry

TOP = 10
SPANS: Mapping[str, tuple[timedelta, timedelta]] = {
    "1h": (timedelta(hours=1), timedelta(minutes=1)),
    "24h": (timedelta(hours=24), timedelta(minutes=30)),
    "7d": (timedelta(days=7), timedelta(hours=3)),
    "30d": (timedelta(days=30), timedelta(days=1)),
}
"""Windows by name: length and width of a bar of the chart."""
FAILED_SIGN_INS = (EventKind.LOGIN_FAILED, EventKind.LOGIN_LOCKED, EventKind.TWO_FACTOR_FAILED)
_KINDS = ("outcome", "reason", "deny-reason", "client", "denied-client", "host", "path", "rule", "country", "latency")
_API_WINDOW = timedelta(hours=24)
_API_BAR = timedelta(hours=1)
_RATE_OVER = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Totals:
    """Totals of a window."""

    outcomes: Summary
    latency_us: Mapping[str, int | None]
    failed_sign_ins: int

    @property
    def block_rate(self) -> float:
        return self.outcomes.counts["deny"] / self.outcomes.total if self.outcomes.total else 0.0


@dataclass(frozen=True, slots=True)
class Client:
    """A client, its number of requests, and its country by the current geo database."""

    address: str
    count: int
    country_code: str | None


@dataclass(frozen=True, slots=True)
class DashboardData:
    """All figures of a window. ``error``: maximum undercount of clients, hosts and paths, by kind.

    ``world``: requests of every known country; ``countries``: the most frequent ones.
    """

    window: Window
    interval: timedelta
    now: Totals
    before: Totals
    bars: Sequence[Bar]
    bars_before: Sequence[Bar]
    bans: int
    reasons: Sequence[tuple[str, int]]
    refusals: Sequence[tuple[str, int]]
    clients: Sequence[Client]
    refused_clients: Sequence[Client]
    hosts: Sequence[tuple[str, int]]
    paths: Sequence[tuple[str, int]]
    rules: Sequence[Mapping[str, Any]]
    countries: Sequence[tuple[str, int]]
    world: Mapping[str, int]
    error: Mapping[str, int]
    untrusted: int
    attacks: int


def dashboard_data(at: datetime, name: str) -> DashboardData:
    """Return the figures of the named window up to ``at``. Raises KeyError."""
    length, interval = SPANS[name]
    window = Window.until(at, length)
    earlier = Window(window.start - length, window.start)
    found = statistics.summaries(window, _KINDS)
    events = dict(event_statistics.counts_by(window, "kind"))
    return DashboardData(
        window=window,
        interval=interval,
        now=_totals(found, events),
        before=_totals(
            statistics.summaries(earlier, ("outcome", "latency")), dict(event_statistics.counts_by(earlier, "kind"))
        ),
        bars=statistics.timeline(window, interval, ["outcome"]),
        bars_before=statistics.timeline(earlier, interval, ["outcome"]),
        bans=policies.number_of_bans(at),
        reasons=found["reason"].top(),
        refusals=found["deny-reason"].top(),
        clients=_clients(found["client"]),
        refused_clients=_clients(found["denied-client"]),
        hosts=found["host"].top(TOP),
        paths=found["path"].top(TOP),
        rules=rules_of(found["rule"])[:TOP],
        countries=found["country"].top(TOP),
        world={code: number for code, number in found["country"].counts.items() if code},
        error={kind: found[kind].error for kind in ("client", "denied-client", "host", "path")},
        untrusted=events.get(EventKind.PROXY_UNTRUSTED, 0),
        attacks=events.get(EventKind.ATTACK_DETECTED, 0),
    )


def figures(at: datetime) -> dict[str, Any]:
    """Return the figures of the last 24 hours for the API."""
    window = Window.until(at, _API_WINDOW)
    found = statistics.summaries(window, ("outcome", "deny-reason", "denied-client", "latency"))
    totals = _totals(found, {})
    nodes = list(Node.objects.all())
    return {
        "started_at": started_at(),
        "uptime_seconds": max(0, int((at - started_at()).total_seconds())),
        "requests": {**outcomes_of(totals.outcomes), "rate_per_second": _rate(at)},
        "block_rate": round(totals.block_rate, 4),
        "timeline": timeline_of(statistics.timeline(window, _API_BAR)),
        "top_blocked_clients": as_items("client_ip", found["denied-client"].top(TOP)),
        "block_reasons": as_items("reason", found["deny-reason"].top()),
        "latency_us": totals.latency_us,
        "counts": _counts(at),
        "policy": _policy(nodes),
        "log": {**log_backlog(nodes, reports.database_now()), "dropped": statistics.dropped(window)},
        "geo": _geo(),
    }


def _totals(found: Mapping[str, Summary], events: Mapping[str, int]) -> Totals:
    failed = sum(events.get(kind, 0) for kind in FAILED_SIGN_INS)
    return Totals(found["outcome"], statistics.percentiles(found["latency"]), failed)


def _clients(counted: Summary) -> list[Client]:
    _, countries = sources_of(settings.CONFIG)
    return [
        Client(text, number, countries.country_of(address) if (address := parse_address(text)) else None)
        for text, number in counted.top(TOP)
    ]


def _counts(at: datetime) -> dict[str, int]:
    """Return the number of rows per kind, including expired and disabled ones, and of live sessions."""
    return {
        **accounts.number_of_users(),
        "blacklist": BlocklistEntry.objects.count(),
        "whitelist": policies.allowed_networks().count(),
        "waf_rules": policies.waf_rules().count(),
        "domains": AuthorizedDomain.objects.count(),
        "licenses": licensing.licenses().count(),
        "active_sessions": accounts.number_of_live_sessions(at),
    }


def _rate(at: datetime) -> float:
    """Return requests per second over the last full minutes."""
    window = Window.until(at - timedelta(minutes=1), _RATE_OVER)
    return round(statistics.summaries(window, ["outcome"])["outcome"].total / _RATE_OVER.total_seconds(), 3)


def _policy(nodes: Sequence[Node]) -> dict[str, Any]:
    here = next((node for node in nodes if node.name == node_name()[:100]), None)
    published_at = here.published_at if here else None
    return {"revision": revisions.current().revision, "published_at": published_at, "nodes": nodes}


def _geo() -> dict[str, Any]:
    database = geo.describe(geo.in_use())
    return {"database": database.kind if database else None, "built_at": database.built_at if database else None}
