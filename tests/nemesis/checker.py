"""Check every answer against the policies that may have been in force at its time."""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from tests.nemesis.history import Edit, Excuse, History, worlds
from tests.nemesis.ledger import Answered
from tests.nemesis.oracle import Question, Verdict, decide


class Wrong(StrEnum):
    """The kinds of wrong answers."""

    LET_IN = "let in"
    REFUSED = "refused"
    REASON = "another reason"
    NO_DECISION = "5xx"


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds in seconds from an edit's 2xx until it must be in force."""

    same_host: float = 1.0
    other_host: float = 2.0


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of checking one answer."""

    answer: Answered
    wrong: Wrong | None
    delay: float
    """Delay of the newest edit that the answer ignored, since its 2xx; 0 if none."""
    excused: bool
    """The host was cut off from that edit, so the delay counts from the end of the fault."""
    here: bool
    """That edit was made on the answer's host."""
    right: tuple[Verdict, ...] = ()


@dataclass
class Checker:
    """Checks answers against the complete history of a run."""

    history: History
    bounds: Bounds = field(default_factory=Bounds)

    def __post_init__(self) -> None:
        edits = self.history.edits
        self._worlds = worlds(edits)
        self._sent = [edit.sent for edit in edits]
        self._done = [edit.done for edit in edits]
        self._verdicts: dict[tuple[Question, int], Verdict] = {}
        self._deadlines: dict[tuple[int, str], float] = {}

    def check(self, answers: Iterable[Answered]) -> "Iterable[Finding]":
        """Yield the finding of each answer, in order."""
        return map(self._check, answers)

    def _check(self, answer: Answered) -> Finding:
        if answer.status >= 500:
            return Finding(answer, Wrong.NO_DECISION, 0.0, excused=False, here=False)
        newest = bisect_right(self._sent, answer.received)
        oldest = self._oldest(answer, newest)
        given, right = Verdict(answer.status, answer.reason), []
        for number in range(newest, oldest - 1, -1):
            verdict = self._verdict(answer.question, number)
            right.append(verdict)
            if verdict == given:
                return self._stale(answer, number, None)
        if any(verdict.status == given.status for verdict in right):
            return Finding(answer, Wrong.REASON, 0.0, excused=False, here=False, right=tuple(right))
        wrong = Wrong.LET_IN if answer.status == 200 else Wrong.REFUSED
        for number in range(oldest - 1, max(-1, oldest - 200), -1):  # find the delay, if it is only late
            if self._verdict(answer.question, number) == given:
                found = self._stale(answer, number, wrong)
                return Finding(answer, wrong, found.delay, excused=False, here=found.here, right=tuple(right))
        return Finding(answer, wrong, math.inf, excused=False, here=False, right=tuple(right))

    def _oldest(self, answer: Answered, newest: int) -> int:
        """Return the number of the oldest world that may still be in force."""
        # Old edits are in force, whatever their bound, unless the host is excused.
        for number in range(newest, 0, -1):
            if self._deadline(number, answer.host) < answer.sent:
                return number
        return 0

    def _deadline(self, number: int, host: str) -> float:
        """Return when the edit that created this world must be in force on a host."""
        key = (number, host)
        if key not in self._deadlines:
            self._deadlines[key] = self._deadline_of(self.history.edits[number - 1], host)
        return self._deadlines[key]

    def _deadline_of(self, edit: Edit, host: str) -> float:
        here = edit.host == host
        bound = self.bounds.same_host if here else self.bounds.other_host
        deadline = edit.done + bound
        if here and not edit.pending:
            return deadline
        for excuse in sorted(self._excuses(host), key=lambda excuse: excuse.since):
            if excuse.since <= deadline and excuse.until >= edit.sent:
                deadline = max(deadline, excuse.until + bound)
        return deadline

    def _excuses(self, host: str) -> list[Excuse]:
        return [excuse for excuse in self.history.excuses if excuse.host == host]

    def _verdict(self, question: Question, number: int) -> Verdict:
        key = (question, number)
        if key not in self._verdicts:
            if len(self._verdicts) > 500_000:
                self._verdicts.clear()
            self._verdicts[key] = decide(self._worlds[number], question)
        return self._verdicts[key]

    def _stale(self, answer: Answered, number: int, wrong: Wrong | None) -> Finding:
        """Return the finding of an answer by this world, with its delay."""
        if number >= len(self._done) or (delay := answer.sent - self._done[number]) <= 0:
            return Finding(answer, wrong, 0.0, excused=False, here=False)
        edit = self.history.edits[number]
        here = edit.host == answer.host
        bound = self.bounds.same_host if here else self.bounds.other_host
        return Finding(answer, wrong, delay, excused=wrong is None and delay > bound, here=here)


@dataclass
class Tally:
    """The sum of the findings of a run, or of one kind of fault."""

    answers: int = 0
    wrong: Counter[Wrong] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    worst_here: float = 0.0
    worst_elsewhere: float = 0.0
    examples: list[Finding] = field(default_factory=list)

    def add(self, finding: Finding) -> None:
        self.answers += 1
        self.statuses[finding.answer.status] += 1
        if finding.wrong:
            self.wrong[finding.wrong] += 1
            if len(self.examples) < 20:
                self.examples.append(finding)
        # Only answers that let somebody in too long count: they are late revocations.
        if finding.answer.status == 200 and not finding.excused:
            if finding.here:
                self.worst_here = max(self.worst_here, finding.delay)
            else:
                self.worst_elsewhere = max(self.worst_elsewhere, finding.delay)
