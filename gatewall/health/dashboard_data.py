"""The figures of the dashboard. Reads only; of the access log, what was counted alone."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from accounts import selectors as accounts
from audit.figures import statistics
from audit.figures.statistics import Window
from gatewall.health.uptime import started_at
from gatewall.models import Node
from gatewall.policy import revisions
from gatewall.publication import nodes as reports
from gatewall.snapshot.places import node_name
from licensing import selectors as licensing
from policies import geo
from policies import selectors as policies

TOP = 10
WINDOW = timedelta(hours=24)
"""What requests, block rate, timeline, clients, reasons, latency and dropped records are counted over."""
_RATE_OVER = timedelta(minutes=5)
_BAR = timedelta(hours=1)
_SILENT_AFTER = timedelta(seconds=10)


def figures(at: datetime) -> dict[str, Any]:
    """Return the figures as of this moment, as the serializer of the view names them."""
    window = Window.until(at, WINDOW)
    found = statistics.summaries(window, ("outcome", "deny-reason", "denied-client", "latency"))
    answers = found["outcome"]
    nodes = list(Node.objects.all())
    return {
        "started_at": started_at(),
        "uptime_seconds": max(0, int((at - started_at()).total_seconds())),
        "outcomes": answers,
        "rate_per_second": _rate(at),
        "block_rate": round(answers.counts["deny"] / answers.total, 4) if answers.total else 0.0,
        "bars": statistics.timeline(window, _BAR),
        "denied_clients": found["denied-client"].top(TOP),
        "deny_reasons": found["deny-reason"].top(),
        "latency_us": statistics.percentiles(found["latency"]),
        "counts": counts(at),
        "policy": _policy(nodes),
        "log": {**log_backlog(nodes, reports.database_now()), "dropped": statistics.dropped(window)},
        "geo": _geo(),
    }


def counts(at: datetime) -> dict[str, int]:
    """Return how many rows there are of each kind, expired and switched off ones included, and live sessions."""
    return {
        **accounts.number_of_users(),
        "blacklist": policies.blocked_networks().count(),
        "whitelist": policies.allowed_networks().count(),
        "waf_rules": policies.waf_rules().count(),
        "domains": policies.authorized_domains().count(),
        "licenses": licensing.licenses().count(),
        "active_sessions": accounts.number_of_live_sessions(at),
    }


def log_backlog(nodes: Sequence[Node], at: datetime) -> dict[str, float | None]:
    """Return how old the oldest record is that is not in the database, and how many bytes wait on all hosts.

    A host whose agent is silent ships nothing: it lags for as long as that, besides what it said last. The
    lag is None while a host has not said any.
    """
    lags = [(node.log_lag_seconds or 0.0) + _silence(node, at).total_seconds() for node in nodes]
    is_known = bool(nodes) and all(node.log_lag_seconds is not None for node in nodes)
    lag = round(max(lags), 3) if is_known else None
    return {"lag_seconds": lag, "spooled": sum(node.log_spooled_bytes for node in nodes)}


def _silence(node: Node, at: datetime) -> timedelta:
    silence = at - node.seen_at
    return silence if silence > _SILENT_AFTER else timedelta()


def _rate(at: datetime) -> float:
    """Return the answers a second over the last whole minutes; the one that runs would make it too low."""
    window = Window.until(at - timedelta(minutes=1), _RATE_OVER)
    return round(statistics.summaries(window, ["outcome"])["outcome"].total / _RATE_OVER.total_seconds(), 3)


def _policy(nodes: Sequence[Node]) -> dict[str, Any]:
    here = next((node for node in nodes if node.name == node_name()[:100]), None)
    published_at = here.published_at if here else None
    return {"revision": revisions.current().revision, "published_at": published_at, "nodes": nodes}


def _geo() -> dict[str, Any]:
    database = geo.describe(geo.in_use())
    return {"database": database.kind if database else None, "built_at": database.built_at if database else None}
