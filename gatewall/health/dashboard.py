"""The figures of the dashboard page for a window and the one before it. Reads only; of the access log, what was
counted alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from audit.counting.summaries import Summary
from audit.event_kinds import EventKind
from audit.events import statistics as event_statistics
from audit.figures import statistics
from audit.figures.statistics import Bar, Window, rules_of
from gatewall.engine.addresses import parse_address
from gatewall.publication.control_plane import sources_of
from policies import selectors as policies

TOP = 10
SPANS: Mapping[str, tuple[timedelta, timedelta]] = {
    "24h": (timedelta(hours=24), timedelta(minutes=30)),
    "7d": (timedelta(days=7), timedelta(hours=3)),
    "30d": (timedelta(days=30), timedelta(hours=12)),
}
"""The windows by name: how long each is, and one bar of its chart."""
FAILED_SIGN_INS = (EventKind.LOGIN_FAILED, EventKind.LOGIN_LOCKED, EventKind.TWO_FACTOR_FAILED)
_KINDS = ("outcome", "reason", "client", "denied-client", "host", "rule", "country", "latency")


@dataclass(frozen=True, slots=True)
class Totals:
    """The totals of one window."""

    outcomes: Summary
    p99_us: int | None
    failed_sign_ins: int

    @property
    def block_rate(self) -> float:
        """The share of the answers that refused, from 0 to 1."""
        return self.outcomes.counts["deny"] / self.outcomes.total if self.outcomes.total else 0.0


@dataclass(frozen=True, slots=True)
class Client:
    """A client, how many answers it got, and its country as the geo database in use has it."""

    address: str
    count: int
    country_code: str | None


@dataclass(frozen=True, slots=True)
class Board:
    """All figures of a window. ``error``: how much the counts of clients and hosts may be too low, by kind."""

    window: Window
    interval: timedelta
    now: Totals
    before: Totals
    bars: Sequence[Bar]
    bars_before: Sequence[Bar]
    bans: int
    reasons: Sequence[tuple[str, int]]
    clients: Sequence[Client]
    refused_clients: Sequence[Client]
    hosts: Sequence[tuple[str, int]]
    rules: Sequence[Mapping[str, Any]]
    countries: Sequence[tuple[str, int]]
    error: Mapping[str, int]
    untrusted: int


def board(at: datetime, name: str) -> Board:
    """Return the figures of the window of this name that ends now. Raises KeyError for a name that is none."""
    length, interval = SPANS[name]
    window = Window.until(at, length)
    earlier = Window(window.start - length, window.start)
    found = statistics.summaries(window, _KINDS)
    events = dict(event_statistics.counts_by(window, "kind"))
    return Board(
        window=window,
        interval=interval,
        now=_totals(found, events),
        before=_totals(
            statistics.summaries(earlier, ("outcome", "latency")), dict(event_statistics.counts_by(earlier, "kind"))
        ),
        bars=statistics.timeline(window, interval),
        bars_before=statistics.timeline(earlier, interval),
        bans=policies.number_of_bans(at),
        reasons=found["reason"].top(),
        clients=_clients(found["client"]),
        refused_clients=_clients(found["denied-client"]),
        hosts=found["host"].top(TOP),
        rules=rules_of(found["rule"])[:TOP],
        countries=found["country"].top(TOP),
        error={kind: found[kind].error for kind in ("client", "denied-client", "host")},
        untrusted=events.get(EventKind.PROXY_UNTRUSTED, 0),
    )


def _totals(found: Mapping[str, Summary], events: Mapping[str, int]) -> Totals:
    failed = sum(events.get(kind, 0) for kind in FAILED_SIGN_INS)
    return Totals(found["outcome"], statistics.percentiles(found["latency"])["p99"], failed)


def _clients(counted: Summary) -> list[Client]:
    _, countries = sources_of(settings.CONFIG)
    return [
        Client(text, number, countries.country_of(address) if (address := parse_address(text)) else None)
        for text, number in counted.top(TOP)
    ]
