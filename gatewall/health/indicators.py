"""Health indicators of the dashboard: whether every part is current, and whether data was lost. Read-only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from django.db.models import Sum

from audit.figures import counters
from audit.figures.statistics import Window
from audit.models import GapKind, LogGap
from gatewall.models import Node
from gatewall.policy import revisions, system_settings
from gatewall.publication import nodes
from gatewall.snapshot.confirmed import ALARM_SECONDS
from policies import geo
from policies.geo import GeoDatabase
from webhooks import selectors as webhooks

_LATE = 60.0
"""Lag of the access log in seconds that needs attention."""
_SILENT_AFTER = timedelta(seconds=60)
_LAGS_AFTER = timedelta(seconds=10)
"""Silence after which an agent counts as not shipping."""
_OLD_DATABASE = timedelta(days=45)
"""Free geo databases are updated monthly."""


class Level(StrEnum):
    """Severity of an indicator."""

    GOOD = "good"
    LOOK = "look"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class WorkerState:
    """A worker of a host, and the revision of its policy."""

    pid: int
    revision: int
    rejected: str
    is_behind: bool


@dataclass(frozen=True, slots=True)
class NodeIndicator:
    """Health indicator of a host, from the last report of its agent."""

    node: Node
    is_silent: bool
    is_behind: bool
    is_unconfirmed: bool
    workers: Sequence[WorkerState]

    @property
    def level(self) -> Level:
        """Severity of the host: bad if it has a problem or is cut off, a warning while it lags behind."""
        if (
            self.node.problem
            or self.is_silent
            or self.is_unconfirmed
            or any(worker.rejected for worker in self.workers)
        ):
            return Level.BAD
        is_behind = self.is_behind or any(worker.is_behind for worker in self.workers)
        return Level.LOOK if is_behind else Level.GOOD


@dataclass(frozen=True, slots=True)
class LogIndicator:
    """Size of the access log (None until measured), the rows removed to limit it, and the time of the last removal."""

    used_bytes: int | None
    max_bytes: int
    folded: int
    deleted: int
    last_at: datetime | None


@dataclass(frozen=True, slots=True)
class Indicators:
    """All indicators; ``gaps`` by reason, ``failed`` webhook deliveries and ``failed_mails`` are of the window."""

    revision: int
    nodes: Sequence[NodeIndicator]
    lag_seconds: float | None
    spooled_bytes: int
    gaps: Mapping[str, int]
    log: LogIndicator
    since: datetime
    geo: GeoDatabase | None
    geo_days: int
    failed: int
    failing: int
    failed_mails: int
    waiting_mails: int

    @property
    def policy_level(self) -> Level:
        """The worst level of the hosts; bad without hosts."""
        levels = {each.level for each in self.nodes}
        if not levels or Level.BAD in levels:
            return Level.BAD
        return Level.LOOK if Level.LOOK in levels else Level.GOOD

    @property
    def lag_level(self) -> Level:
        """Lag of the access log."""
        if self.lag_seconds is None:
            return Level.LOOK
        return Level.GOOD if self.lag_seconds < _LATE else Level.BAD

    @property
    def gap_level(self) -> Level:
        """Missing records in the access log."""
        return Level.BAD if any(self.gaps.values()) else Level.GOOD

    @property
    def size_level(self) -> Level:
        """Rows removed in the window because the access log was too large."""
        return Level.LOOK if self.log.last_at is not None and self.log.last_at >= self.since else Level.GOOD

    @property
    def geo_level(self) -> Level:
        """Presence and age of the geo database."""
        return Level.GOOD if self.geo and self.geo_days <= _OLD_DATABASE.days else Level.LOOK

    @property
    def webhook_level(self) -> Level:
        """Failed webhook deliveries, and webhooks that currently fail."""
        return Level.BAD if self.failed else Level.LOOK if self.failing else Level.GOOD

    @property
    def mail_level(self) -> Level:
        """Mails to users that were given up in the window, and those that wait after a failed attempt."""
        return Level.BAD if self.failed_mails else Level.LOOK if self.waiting_mails else Level.GOOD


def indicators_at(at: datetime, window: Window) -> Indicators:
    """Return the indicators at ``at``; counts are over the window."""
    rows, head = list(Node.objects.all()), revisions.head()
    now = nodes.database_now()
    backlog = log_backlog(rows, now)
    database = geo.describe(geo.in_use())
    failed_mails, waiting_mails = webhooks.number_of_unsent_mails(window.start, window.end)
    return Indicators(
        revision=head.revision,
        nodes=[_node(node, head.revision, now) for node in rows],
        lag_seconds=backlog["lag_seconds"],
        spooled_bytes=int(backlog["spooled"] or 0),
        gaps=_gaps(window),
        log=_log(),
        since=window.start,
        geo=database,
        geo_days=max(0, (at - database.built_at).days) if database else 0,
        failed=webhooks.number_of_failed(window.start, window.end),
        failing=webhooks.number_of_failing(),
        failed_mails=failed_mails,
        waiting_mails=waiting_mails,
    )


def hosts() -> list[NodeIndicator]:
    """Return the indicator of each host, by name."""
    revision, now = revisions.head().revision, nodes.database_now()
    return [_node(node, revision, now) for node in Node.objects.all()]


def log_backlog(nodes: Sequence[Node], at: datetime) -> dict[str, float | None]:
    """Return the age in seconds of the oldest record not yet in the database, and the bytes waiting on all hosts.

    A silent agent ships nothing, so its silence adds to the lag. The lag is None until every host has reported one.
    """
    lags = [(node.log_lag_seconds or 0.0) + _silence(node, at).total_seconds() for node in nodes]
    is_known = bool(nodes) and all(node.log_lag_seconds is not None for node in nodes)
    lag = round(max(lags), 3) if is_known else None
    return {"lag_seconds": lag, "spooled": sum(node.log_spooled_bytes for node in nodes)}


def _silence(node: Node, at: datetime) -> timedelta:
    silence = at - node.seen_at
    return silence if silence > _LAGS_AFTER else timedelta()


def _node(node: Node, revision: int, at: datetime) -> NodeIndicator:
    workers = [
        WorkerState(each["pid"], each["revision"], str(each.get("rejected", "")), each["revision"] != revision)
        for each in node.workers
    ]
    return NodeIndicator(
        node,
        is_silent=at - node.seen_at > _SILENT_AFTER,
        is_behind=node.revision != revision,
        is_unconfirmed=nodes.unconfirmed_seconds(node, at) > ALARM_SECONDS,
        workers=workers,
    )


def _log() -> LogIndicator:
    totals = counters.totals()
    return LogIndicator(
        used_bytes=counters.noted(counters.LOG_BYTES),
        max_bytes=system_settings.current().access_log_max_bytes,
        folded=totals[counters.LOG_FOLDED],
        deleted=totals[counters.LOG_DELETED],
        last_at=counters.last_at(counters.LOG_FOLDED, counters.LOG_DELETED),
    )


def _gaps(window: Window) -> dict[str, int]:
    rows = LogGap.objects.filter(at__gte=window.start, at__lt=window.end).values_list("kind")
    found = {kind: int(number) for kind, number in rows.annotate(number=Sum("count")).order_by("kind")}
    return {kind.value: found.get(kind.value, 0) for kind in GapKind}
