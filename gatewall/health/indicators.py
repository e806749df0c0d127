"""Health indicators of the dashboard: is every part current, and was anything lost? Read-only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from django.db.models import Sum

from audit.figures import tallies
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
"""Seconds that a log may lag before somebody should look."""
_SILENT_AFTER = timedelta(seconds=60)
_LAGS_AFTER = timedelta(seconds=10)
"""An agent that was silent for longer has shipped nothing since."""
_OLD_DATABASE = timedelta(days=45)
"""Those that are free of charge come out once a month."""


class Level(StrEnum):
    """How a sign is."""

    GOOD = "good"
    LOOK = "look"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class WorkerSign:
    """A worker of a host, and the revision that it decides with."""

    pid: int
    revision: int
    rejected: str
    is_behind: bool


@dataclass(frozen=True, slots=True)
class NodeSign:
    """A host, and what its agent said last."""

    node: Node
    is_silent: bool
    is_behind: bool
    is_unconfirmed: bool
    workers: Sequence[WorkerSign]

    @property
    def level(self) -> Level:
        """A host that has a problem or is cut off is bad; one that is behind may be in the middle of it."""
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
class LogSign:
    """How large the access log is, None while nobody measured it, and the rows that went for it, ever and when last."""

    used_bytes: int | None
    max_bytes: int
    folded: int
    deleted: int
    last_at: datetime | None


@dataclass(frozen=True, slots=True)
class Signs:
    """All signs; ``gaps`` by why records are missing, ``failed`` notices to webhooks, both of the window."""

    revision: int
    nodes: Sequence[NodeSign]
    lag_seconds: float | None
    spooled_bytes: int
    gaps: Mapping[str, int]
    log: LogSign
    since: datetime
    geo: GeoDatabase | None
    geo_days: int
    failed: int
    failing: int

    @property
    def policy_level(self) -> Level:
        """The worst of the hosts; none is bad."""
        levels = {each.level for each in self.nodes}
        if not levels or Level.BAD in levels:
            return Level.BAD
        return Level.LOOK if Level.LOOK in levels else Level.GOOD

    @property
    def lag_level(self) -> Level:
        """Of the access log: how far behind it is."""
        if self.lag_seconds is None:
            return Level.LOOK
        return Level.GOOD if self.lag_seconds < _LATE else Level.BAD

    @property
    def gap_level(self) -> Level:
        """Of the access log: whether anything is missing in it."""
        return Level.BAD if any(self.gaps.values()) else Level.GOOD

    @property
    def size_level(self) -> Level:
        """Of the access log: whether rows went in the window because it was too large."""
        return Level.LOOK if self.log.last_at is not None and self.log.last_at >= self.since else Level.GOOD

    @property
    def geo_level(self) -> Level:
        """Of the geo database: whether there is one, and a young one."""
        return Level.GOOD if self.geo and self.geo_days <= _OLD_DATABASE.days else Level.LOOK

    @property
    def webhook_level(self) -> Level:
        """Of the webhooks: whether a notice was given up, or one cannot be reached now."""
        return Level.BAD if self.failed else Level.LOOK if self.failing else Level.GOOD


def signs(at: datetime, window: Window) -> Signs:
    """Return the signs as of this moment; what is counted is counted over the window."""
    hosts, head = list(Node.objects.all()), revisions.head()
    now = nodes.database_now()
    backlog = log_backlog(hosts, now)
    database = geo.describe(geo.in_use())
    return Signs(
        revision=head.revision,
        nodes=[_node(node, head.revision, now) for node in hosts],
        lag_seconds=backlog["lag_seconds"],
        spooled_bytes=int(backlog["spooled"] or 0),
        gaps=_gaps(window),
        log=_log(),
        since=window.start,
        geo=database,
        geo_days=max(0, (at - database.built_at).days) if database else 0,
        failed=webhooks.number_of_failed(window.start, window.end),
        failing=webhooks.number_of_failing(),
    )


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
    return silence if silence > _LAGS_AFTER else timedelta()


def _node(node: Node, revision: int, at: datetime) -> NodeSign:
    workers = [
        WorkerSign(each["pid"], each["revision"], str(each.get("rejected", "")), each["revision"] != revision)
        for each in node.workers
    ]
    return NodeSign(
        node,
        is_silent=at - node.seen_at > _SILENT_AFTER,
        is_behind=node.revision != revision,
        is_unconfirmed=nodes.unconfirmed_seconds(node, at) > ALARM_SECONDS,
        workers=workers,
    )


def _log() -> LogSign:
    totals = tallies.totals()
    return LogSign(
        used_bytes=tallies.noted(tallies.LOG_BYTES),
        max_bytes=system_settings.current().access_log_max_bytes,
        folded=totals[tallies.LOG_FOLDED],
        deleted=totals[tallies.LOG_DELETED],
        last_at=tallies.last_at(tallies.LOG_FOLDED, tallies.LOG_DELETED),
    )


def _gaps(window: Window) -> dict[str, int]:
    rows = LogGap.objects.filter(at__gte=window.start, at__lt=window.end).values_list("kind")
    found = {kind: int(number) for kind, number in rows.annotate(number=Sum("count")).order_by("kind")}
    return {kind.value: found.get(kind.value, 0) for kind in GapKind}
