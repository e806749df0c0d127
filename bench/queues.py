"""Seeded queue simulations: workers that answer, agents that poll, logs that are shipped. Pure.

Service times are drawn from measurements; times are in seconds.
"""

import heapq
import random
from collections.abc import Sequence
from dataclasses import dataclass

_BURST_SHARE, _BURST, _CALM = 0.2, 1.5, 0.875
"""One second in five has 1.5 times the mean rate, the others less."""
_LOOK = 0.25
_RETRY = 2.0
_WORKER_LOOK = 0.05


@dataclass(frozen=True, slots=True)
class Polling:
    """Cost of polling: interval, and store CPU of a poll and of a publication."""

    every: float
    poll: float
    publish: float
    compile: float
    cores: int


@dataclass(frozen=True, slots=True)
class Shipping:
    """Cost of a batch: the lock shared by all hosts for ``lock`` plus ``lock_row`` per row, up to ``rows``."""

    lock: float
    lock_row: float
    row: float
    rows: int

    @property
    def most(self) -> float:
        """Return the maximum rows per second, with full batches."""
        return self.rows / (self.lock + self.lock_row * self.rows)


@dataclass(frozen=True, slots=True)
class Shipped:
    """Delay of rows before the outage, maximum backlog of a host, and time to catch up."""

    lag_p99: float
    waiting_rows: float
    caught_up: float | None


def answering(
    service: Sequence[float], rate: float, workers: int, *, seconds: float, bursts: bool, seed: int
) -> list[float]:
    """Return the sorted latencies; each worker has a queue of its own."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    free, took, now, until, factor = [0.0] * workers, [], 0.0, 0.0, 1.0
    while now < seconds:
        if bursts and now >= until:
            until, factor = now + 1.0, _BURST if chance.random() < _BURST_SHARE else _CALM
        now += chance.expovariate(rate * factor)
        worker = chance.randrange(workers)
        free[worker] = max(free[worker], now) + chance.choice(service)
        took.append(free[worker] - now)
    return sorted(took)


def told(hosts: int, costs: Polling, *, edits: int, seed: int) -> tuple[list[float], float]:
    """Return the sorted delays until each change was in force on the last host, and the load of the store."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    pause, busy, cores = 20.0, 0.0, [0.0] * costs.cores
    moments = [pause * (number + 1) + chance.random() for number in range(edits)]
    knows, last = [0] * hosts, [0.0] * edits
    events = [(chance.random() * costs.every, host, False) for host in range(hosts)]
    heapq.heapify(events)
    end = moments[-1] + pause
    while events and events[0][0] < end:
        at, host, publishes = heapq.heappop(events)
        work = costs.publish if publishes else costs.poll
        done = max(at, heapq.heappop(cores)) + work
        heapq.heappush(cores, done)
        busy += work
        there = sum(moment <= at for moment in moments)
        if not publishes and there > knows[host]:
            heapq.heappush(events, (done, host, True))
            continue
        if publishes:
            done += costs.compile
            for number in range(knows[host], there):
                last[number] = max(last[number], done + chance.random() * _WORKER_LOOK - moments[number])
            knows[host] = there
        heapq.heappush(events, (done + costs.every, host, False))
    return sorted(last), busy / end / costs.cores


def shipping(
    hosts: int, rate: float, costs: Shipping, *, away: tuple[float, float], seconds: float, seed: int
) -> Shipped:
    """Simulate all hosts shipping their rows to one store with an outage."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    share, shipped, lock = rate / hosts, [0.0] * hosts, 0.0
    events = [(chance.random() * _LOOK, host) for host in range(hosts)]
    heapq.heapify(events)
    lags: list[float] = []
    behind, most = set(range(hosts)), 0.0
    caught_up: float | None = None
    while events and events[0][0] < seconds:
        at, host = heapq.heappop(events)
        waiting = share * at - shipped[host]
        most = max(most, waiting)
        if away[0] <= at < away[1]:
            heapq.heappush(events, (at + _RETRY * (0.9 + 0.2 * chance.random()), host))
            continue
        rows = min(waiting, float(costs.rows))
        ready = at + costs.row * rows
        lock = max(lock, ready) + costs.lock + costs.lock_row * rows
        shipped[host] += rows
        if away[0] - 60 < at < away[0]:
            lags.append(lock - at + waiting / share)
        if at >= away[1] and host in behind and waiting <= costs.rows:
            behind.discard(host)
            caught_up = lock - away[1] if not behind else None
        heapq.heappush(events, (lock + (_LOOK if waiting <= costs.rows else 0.0), host))
    lags.sort()
    return Shipped(lags[int(len(lags) * 0.99)] if lags else seconds, most, caught_up)
