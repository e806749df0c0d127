"""Report of a run: checked answers by fault."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.nemesis.checker import Bounds, Checker, Tally, Wrong
from tests.nemesis.hosts import Play

_HEAD = (
    "Fault | times | answers | 200 | 401 | 403 | 5xx | none | let in | refused | wrong reason "
    "| longest silence, s: data plane | control plane | worst revocation, s: same host | other host"
)


@dataclass(frozen=True, slots=True)
class Event:
    """A fault and its monotonic times."""

    fault: str
    since: float
    until: float
    silent: Mapping[str, float]
    """The longest silence of a plane of each kind."""
    broken: int = 0
    """Requests without an answer."""


@dataclass(frozen=True, slots=True)
class Result:
    """Results of a run, in total and by fault."""

    whole: Tally
    by_fault: dict[str, Tally]


def result_of(play: Play, events: Sequence[Event], bounds: Bounds) -> Result:
    """Check every answer of a finished run."""
    starts, whole, by_fault = [event.since for event in events], Tally(), {event.fault: Tally() for event in events}
    for finding in Checker(play.history, bounds).check(play.ledger.read()):
        whole.add(finding)
        number = bisect_right(starts, finding.answer.sent)
        if number:
            by_fault[events[number - 1].fault].add(finding)
    return Result(whole, by_fault)


_HARMLESS = ("nothing", "twenty reloads", "rolling restart")
"""Faults during which every request must be answered."""


def unanswered(events: Sequence[Event]) -> list[str]:
    """Return messages about missing answers that must not be missing."""
    broken = Counter({fault: sum(event.broken for event in events if event.fault == fault) for fault in _HARMLESS})
    return [f"{number} requests without an answer: {fault}" for fault, number in broken.items() if number]


def failures(tally: Tally) -> list[str]:
    """Return messages about wrong or late answers."""
    kinds = (Wrong.LET_IN, Wrong.REFUSED, Wrong.REASON)
    return [f"{tally.wrong[kind]} answers: {kind}" for kind in kinds if tally.wrong[kind]] + [
        f"{finding.wrong}: {finding.answer}, right were {set(finding.right)}, {finding.delay:.2f} s late"
        for finding in tally.examples
        if finding.wrong != Wrong.NO_DECISION
    ]


def summary(play: Play, result: Result, changes: int) -> str:
    """Return a summary of the run in a few lines."""
    whole, kills = result.whole, sum(host.stage.kills for host in play.hosts)
    checked, counts = whole.answers - whole.wrong[Wrong.NO_DECISION], play.ledger.counts
    lines = (
        (
            f"{whole.answers} answers, {checked} of them checked against the policy; {changes} changes in "
            f"{len(play.history.edits)} edits, {kills} kills, {counts.broken} requests without an answer; "
            f"{counts.again} were sent again on another connection, as nginx does, because theirs was closed."
        ),
        (
            f"Let in though denied: **{whole.wrong[Wrong.LET_IN]}**. "
            f"Refused though allowed: **{whole.wrong[Wrong.REFUSED]}**. "
            f"With a wrong reason: **{whole.wrong[Wrong.REASON]}**. "
            f"5xx: **{whole.wrong[Wrong.NO_DECISION]}**."
        ),
        (
            "Worst revocation, from the 2xx of the edit to the sending of the last request that was let in: "
            f"{whole.worst_here:.2f} s on the same host, {whole.worst_elsewhere:.2f} s on another one."
        ),
    )
    return "\n".join(f"* {line}" for line in lines)


def table(events: Sequence[Event], result: Result) -> str:
    """Return the faults as a Markdown table."""
    lines = [f"| {_HEAD} |", "|---|" + "---:|" * (_HEAD.count("|"))]
    for fault, tally in sorted(result.by_fault.items()):
        own = [event for event in events if event.fault == fault]
        columns = [len(own), tally.answers, *(tally.statuses[status] for status in (200, 401, 403))]
        columns += [tally.wrong[Wrong.NO_DECISION], sum(event.broken for event in own)]
        columns += [tally.wrong[wrong] for wrong in (Wrong.LET_IN, Wrong.REFUSED, Wrong.REASON)]
        silent = [f"{max(event.silent[plane] for event in own):.1f}" for plane in ("data", "control")]
        worst = [f"{tally.worst_here:.2f}", f"{tally.worst_elsewhere:.2f}"]
        lines.append(f"| {' | '.join([fault, *map(str, columns), *silent, *worst])} |")
    return "\n".join(lines)
