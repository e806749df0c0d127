"""Inject random faults one after the other, under load, and record the times of each."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from tests.kill_test.faults import KILLS, OTHERS, Scene

Fault = Callable[[Scene], None]


@dataclass(frozen=True, slots=True)
class Event:
    """A fault and its times in seconds since the epoch."""

    fault: str
    since: float
    until: float
    kills: int
    broken: int
    silent_seconds: float
    behind_seconds: float


def run(scene: Scene, *, seconds: float, kills: int, say: Callable[[str], None]) -> list[Event]:
    """Inject faults until this many kills or the end of the time; the first round has each fault once."""
    deadline, events = time.monotonic() + seconds, []
    every = [*KILLS, *OTHERS]
    first_round = scene.choice.sample(every, len(every))
    weights = [*KILLS.values(), *OTHERS.values()]
    while time.monotonic() < deadline and scene.stage.kills < kills:
        fault = first_round.pop() if first_round else scene.choice.choices(every, weights)[0]
        event = do(scene, fault)
        events.append(event)
        say(f"{event.fault}: silent {event.silent_seconds:.1f} s, behind {event.behind_seconds:.1f} s")
    return events


def do(scene: Scene, fault: Fault) -> Event:
    """Inject one fault; return when visitors are answered again and the access log has caught up."""
    ledger, stage = scene.visitors.ledger, scene.stage
    since, began, kills, broken = time.time(), time.monotonic(), stage.kills, ledger.broken
    fault(scene)
    stage.start("auth", "control", "agent")
    for plane in ("auth", "control"):
        stage.wait_for_workers(plane)
    undone = time.monotonic()
    scene.visitors.wait_for_more(20)
    scene.stored_log.catch_up(ledger, 180)
    caught_up = time.monotonic()
    return Event(
        fault.__name__.replace("_", " "),
        since,
        time.time(),
        stage.kills - kills,
        ledger.broken - broken,
        ledger.silence(began, caught_up),
        caught_up - undone,
    )
