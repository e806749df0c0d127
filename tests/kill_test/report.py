"""Report of a run: figures by kind of fault, and in total."""

import platform
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import psutil

from tests.kill_test.account import Account, StoredLog, decided_at
from tests.kill_test.nemesis import Event
from tests.kill_test.visitors import Ledger

_HEAD = (
    "Fault | times | kills | answers | rows | missing | gaps: dropped, damaged, torn "
    "| longest silence, s | caught up after, s"
)


def failures(account: Account, ledger: Ledger) -> list[str]:
    """Return messages about lost, duplicate or wrong records; none if all is well."""
    told = account.told
    surplus = told["dropped"] + told["damaged"] - len(account.missing)
    wrong = {
        "answers without a row and without a gap": account.lost,
        "rows or decisions that are there twice": account.doubled,
        "rows that say another status than the answer": account.different,
        "counts per minute that differ from the rows": account.miscounted,
        "answers of 5xx": ledger.errors(),
        "answers that are not the right ones": ledger.wrong.total() - ledger.errors(),
        "rows without an answer, beyond those in flight": max(0, account.unanswered - ledger.broken),
        "losses told beyond those there were and those in flight": max(0, surplus - ledger.broken),
    }
    return [f"{number} {words}" for words, number in wrong.items() if number]


def table(events: Sequence[Event], account: Account, ledger: Ledger, stored_log: StoredLog) -> str:
    """Return the faults as a Markdown table: answers from each fault's start to the next one's."""
    starts = [event.since for event in events]
    answers = _by_fault(events, starts, (decided_at(decision) for decision in ledger.answers))
    rows = _by_fault(events, starts, (decided_at(decision) for decision, _status in stored_log.rows()))
    missing = _by_fault(events, starts, (decided_at(decision) for decision in account.missing))
    told = {kind: Counter[str]() for kind in ("dropped", "damaged", "torn")}
    for kind, count, at in stored_log.gaps():
        for fault in _by_fault(events, starts, [at]):
            told[kind][fault] += count
    lines = [f"| {_HEAD} |", "|---|" + "---:|" * 8]
    for fault in sorted({event.fault for event in events}):
        own = [event for event in events if event.fault == fault]
        figures = [
            len(own),
            sum(event.kills for event in own),
            answers[fault],
            rows[fault],
            missing[fault],
            ", ".join(str(counts[fault]) for counts in told.values()),
            f"{max(event.silent_seconds for event in own):.1f}",
            f"{max(event.behind_seconds for event in own):.1f}",
        ]
        lines.append(f"| {' | '.join(map(str, [fault, *figures]))} |")
    return "\n".join(lines)


def summary(account: Account, ledger: Ledger, kills: int) -> str:
    """Return a summary of the run in a few lines."""
    told = ", ".join(f"{account.told[kind]} {kind}" for kind in ("dropped", "damaged", "torn"))
    lines = (
        f"{account.answers} answers, {account.rows} rows, {kills} kills, {ledger.broken} requests cut off.",
        f"Lost without a gap: **{account.lost}**. Duplicate: **{account.doubled}**. 5xx: **{ledger.errors()}**.",
        f"Answers without a row: {len(account.missing)}. Reported as gaps: {told}.",
        f"Rows without an answer (in flight at a kill): {account.unanswered}.",
        f"Rows that differ from the answer: {account.different}.",
        f"Wrong answers (status given, right status): {dict(ledger.wrong)}.",
        f"Difference between the counts per minute and the rows: {account.miscounted}.",
    )
    return "\n".join(f"* {line}" for line in lines)


def machine() -> str:
    """Return a description of the machine."""
    cores, load = psutil.cpu_count(), psutil.getloadavg()[1]
    memory = psutil.virtual_memory().total / 2**30
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, Linux {platform.release()}, Python {platform.python_version()}, {cores} cores, "
        f"{memory:.0f} GiB, load {load:.1f}"
    )


def _by_fault(events: Sequence[Event], starts: Sequence[float], moments: Iterable[float]) -> Counter[str]:
    """Return how many of these times are between a fault's start and the next one's."""
    found: Counter[str] = Counter()
    for moment in moments:
        if (number := bisect_right(starts, moment)) > 0:
            found[events[number - 1].fault] += 1
    return found
