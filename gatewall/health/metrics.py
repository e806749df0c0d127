"""Prometheus metrics from existing counters and states.

No label contains an address, a user or a path: label values are closed lists or the hosts of this installation.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from accounts import selectors as accounts
from audit.counting.summaries import Summary
from audit.event_kinds import EventKind
from audit.figures import counters, statistics
from audit.models import GapKind
from gatewall.engine.addresses import parse_hop
from gatewall.engine.model import Reason
from gatewall.health.metric_families import family, gauge
from gatewall.kernel.detectors import Detector
from gatewall.models import Node
from gatewall.policy import revisions, system_settings
from gatewall.publication import nodes
from policies import geo
from policies import selectors as policies
from policies.models import ListSubscription

BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
"""Bounds in seconds, each one of ``audit.counting.counts.latency_class``, so that the buckets are exact."""
LOGINS = {
    "succeeded": (EventKind.LOGIN_SUCCEEDED,),
    "failed": (EventKind.LOGIN_FAILED, EventKind.TWO_FACTOR_FAILED),
    "locked": (EventKind.LOGIN_LOCKED,),
}
_MICRO = 1_000_000


def exposition(at: datetime) -> bytes:
    """Return all metrics in Prometheus' text format. Raises django.db.Error."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Gatewall(at))
    return generate_latest(registry)


def without_database(node: str, seconds: float) -> bytes:
    """Return the metrics that need no database: the age of this host's policy."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_WithoutDatabase(node, seconds))
    return generate_latest(registry)


class _WithoutDatabase(Collector):
    """Metrics of one host from its own files."""

    def __init__(self, node: str, seconds: float) -> None:
        self._node = node
        self._seconds = seconds

    def collect(self) -> Iterator[Metric]:
        unconfirmed = family("gatewall_policy_unconfirmed_seconds")
        # A host named by an address is shown by the number of its row, which cannot be read now.
        unconfirmed.add_metric(["this" if parse_hop(self._node) else self._node], self._seconds)
        yield unconfirmed


class _Gatewall(Collector):
    """Collect all metrics with a constant number of queries."""

    def __init__(self, at: datetime) -> None:
        self._at = at

    def describe(self) -> Iterable[Metric]:
        """Return nothing: a registry would collect all metrics once more to learn their names."""
        return []

    def collect(self) -> Iterator[Metric]:
        yield from _answers()
        yield from _events()
        yield from _hosts(list(Node.objects.all()), nodes.database_now())
        yield from _people(self._at)
        yield from _policy(self._at)
        yield from _lists(self._at)


def _answers() -> Iterator[Metric]:
    counted = statistics.ever(("reason", "latency"))
    decisions = family("gatewall_decisions")
    for reason in Reason:
        decisions.add_metric([reason.effect.value, reason.value], counted["reason"].counts[reason.value])
    yield decisions
    yield _latency(counted["latency"])


def _events() -> Iterator[Metric]:
    totals = counters.totals()
    lost = family("gatewall_log_lost_records")
    for gap in GapKind:
        lost.add_metric([gap.value], totals[counters.lost(gap)])
    yield lost
    gone = family("gatewall_log_shortened_rows")
    gone.add_metric(["folded"], totals[counters.LOG_FOLDED])
    gone.add_metric(["deleted"], totals[counters.LOG_DELETED])
    yield gone
    size = family("gatewall_log_bytes")
    if (used := counters.noted(counters.LOG_BYTES)) is not None:
        size.add_metric([], used)
    yield size
    events = family("gatewall_security_events")
    for kind in EventKind:
        events.add_metric([kind.value, kind.severity.value], totals[counters.of_events(kind)])
    yield events
    logins = family("gatewall_logins")
    for result, kinds in LOGINS.items():
        logins.add_metric([result], sum(totals[counters.of_events(kind)] for kind in kinds))
    yield logins
    banned = family("gatewall_networks_banned")
    for detector in Detector:
        banned.add_metric([detector.value], totals[counters.banned_by(detector)])
    yield banned


def _latency(latency: Summary) -> Any:
    """Return the latency histogram; its sum is at most 10 % too large."""
    classes = sorted((int(key), number) for key, number in latency.counts.items())
    bounds = [round(bound * _MICRO) for bound in BUCKETS]
    buckets = [
        (str(float(bound)), float(sum(number for longest, number in classes if longest <= microseconds)))
        for bound, microseconds in zip(BUCKETS, bounds, strict=True)
    ]
    total = sum(longest * number for longest, number in classes) / _MICRO
    found = family("gatewall_decision_duration_seconds")
    found.add_metric([], [*buckets, ("+Inf", float(latency.total))], total)
    return found


def _hosts(reported: list[Node], at: datetime) -> Iterator[Metric]:
    seen = family("gatewall_node_silence_seconds")
    problem = family("gatewall_node_problem")
    published = family("gatewall_node_policy_revision")
    spooled = family("gatewall_spool_bytes")
    lag = family("gatewall_log_lag_seconds")
    worker = family("gatewall_worker_policy_revision")
    rejected = family("gatewall_worker_policy_rejected")
    heads, size, found = (family(f"gatewall_worker_heads{end}") for end in ("", "_bytes", "_found"))
    unconfirmed = family("gatewall_policy_unconfirmed_seconds")
    for node in reported:
        name = _name_of(node)
        seen.add_metric([name], max(0.0, (at - node.seen_at).total_seconds()))
        problem.add_metric([name], bool(node.problem))
        published.add_metric([name], node.revision)
        spooled.add_metric([name], node.log_spooled_bytes)
        unconfirmed.add_metric([name], nodes.unconfirmed_seconds(node, at))
        if node.log_lag_seconds is not None:
            lag.add_metric([name], node.log_lag_seconds)
        for slot, state in enumerate(sorted(node.workers, key=lambda state: state.get("pid", 0))):
            worker.add_metric([name, str(slot)], state.get("revision", 0))
            rejected.add_metric([name, str(slot)], bool(state.get("rejected")))
            if figures := state.get("heads"):
                heads.add_metric([name, str(slot)], figures["number"])
                size.add_metric([name, str(slot)], figures["bytes"])
                found.add_metric([name, str(slot), "hit"], figures["hits"])
                found.add_metric([name, str(slot), "miss"], figures["misses"])
    yield from (seen, problem, published, spooled, lag, worker, rejected, heads, size, found, unconfirmed)


def _name_of(node: Node) -> str:
    """Return the host's name, unless it is an address."""
    return f"node-{node.pk}" if parse_hop(node.name) else node.name


def _people(at: datetime) -> Iterator[Metric]:
    yield gauge("gatewall_sessions", accounts.number_of_live_sessions(at))
    yield gauge("gatewall_bans", policies.number_of_bans(at))


def _policy(at: datetime) -> Iterator[Metric]:
    yield gauge("gatewall_policy_revision", revisions.current().revision)
    rules = policies.waf_rules().filter(enabled=True).count()
    yield gauge("gatewall_waf_rules", rules)
    waf = family("gatewall_waf")
    waf.add_metric(["re2", system_settings.current().waf_mode], 1)
    yield waf
    database = geo.describe(geo.in_use())
    age = family("gatewall_geo_database_age_seconds")
    if database is not None:
        age.add_metric([], max(0.0, (at - database.built_at).total_seconds()))
    yield age


def _lists(at: datetime) -> Iterator[Metric]:
    states = {"ok": 0, "failing": 0, "new": 0, "off": 0}
    oldest = family("gatewall_list_age_seconds")
    ages = []
    for subscription in ListSubscription.objects.only("enabled", "failure", "succeeded_at", "created_at"):
        if not subscription.enabled:
            states["off"] += 1
            continue
        fetched_at = subscription.succeeded_at
        states["failing" if subscription.failure else "ok" if fetched_at else "new"] += 1
        ages.append((at - (fetched_at or subscription.created_at)).total_seconds())
    lists = family("gatewall_lists")
    for state, number in states.items():
        lists.add_metric([state], number)
    if ages:
        oldest.add_metric([], max(0.0, *ages))
    yield from (lists, oldest)
