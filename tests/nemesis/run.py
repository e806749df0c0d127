"""Inject faults one after the other while an editor changes the policy and visitors send requests."""

import math
import time
from collections.abc import Callable, Sequence

from tests.nemesis.faults import Fault, possible
from tests.nemesis.hosts import Play
from tests.nemesis.report import Event
from tests.nemesis.visitors import Editor

_CHANGES, _CHANGES_SECONDS = 8, 10


def at_random(
    play: Play,
    editor: Editor,
    *,
    seconds: float,
    say: Callable[[str], None],
    faults: Sequence[Fault] = (),
    answers: float = math.inf,
) -> list[Event]:
    """Inject each fault once in a random order, then by weight, or only these, once; return the events.

    Ends when the time is over, or after this many answers.
    """
    known = possible(play)
    todo = list(faults) or play.choice.sample(list(known), len(known))
    events, deadline = [], time.monotonic() + seconds
    while time.monotonic() < deadline and (todo or not faults) and play.ledger.counts.answers < answers:
        fault = todo.pop(0) if todo else play.choice.choices(list(known), list(known.values()))[0]
        if editor.failure:
            raise editor.failure
        events.append(do(play, editor, fault))
        silent = ", ".join(f"{plane} {seconds:.1f}" for plane, seconds in sorted(events[-1].silent.items()))
        say(f"{events[-1].fault}: {events[-1].until - events[-1].since:.1f} s, silent: {silent}")
    return events


def do(play: Play, editor: Editor, fault: Fault) -> Event:
    """Inject one fault; return when visitors are answered again and the policy has changed several times."""
    since, before = time.monotonic(), play.ledger.counts
    fault(play)
    for host in play.hosts:
        host.stage.start("auth", "control", "agent")
        for plane in ("auth", "control"):
            host.stage.wait_for_workers(plane)
    play.visitors.wait_for_more(60 * len(play.hosts))
    changes, patience = editor.changes + _CHANGES, time.monotonic() + _CHANGES_SECONDS
    while editor.changes < changes and time.monotonic() < patience and not editor.failure:
        time.sleep(0.1)
    until, broken = time.monotonic(), play.ledger.counts.broken - before.broken
    return Event(fault.__name__.replace("_", " "), since, until, play.ledger.silences(since, until), broken)
