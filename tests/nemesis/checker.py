"""Holds every answer against the policies that may have been in force when it was given."""

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
    """How an answer can be wrong."""

    LET_IN = "let in"
    REFUSED = "refused"
    REASON = "another reason"
    NO_DECISION = "5xx"


@dataclass(frozen=True, slots=True)
class Bounds:
    """Within which time of its 2xx an edit is in force, in seconds."""

    same_host: float = 1.0
    other_host: float = 2.0


@dataclass(frozen=True, slots=True)
class Finding:
    """What the checker says of one answer."""

    answer: Answered
    wrong: Wrong | None
    delay: float
    """For how long after its 2xx the newest edit was not in force that this answer does not know; 0 if none."""
    excused: bool
    """The delay is that of an edit which the host could not hear of, so it counts from there on."""
    here: bool
    """That edit was made on the host of the answer."""
    right: tuple[Verdict, ...] = ()


@dataclass
class Checker:
    """Knows the history of a run, which must be over."""

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
        """What is to be said of each answer, in their order."""
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
        for number in range(oldest - 1, max(-1, oldest - 200), -1):  # how late it is, if it is that
            if self._verdict(answer.question, number) == given:
                found = self._stale(answer, number, wrong)
                return Finding(answer, wrong, found.delay, excused=False, here=found.here, right=tuple(right))
        return Finding(answer, wrong, math.inf, excused=False, here=False, right=tuple(right))

    def _oldest(self, answer: Answered, newest: int) -> int:
        """The number of the oldest world that may be in force still: of all that must be, the last."""
        # All that was done long ago is in force, whatever bound it had, unless the host is excused.
        for number in range(newest, 0, -1):
            if self._deadline(number, answer.host) < answer.sent:
                return number
        return 0

    def _deadline(self, number: int, host: str) -> float:
        """When the edit that made this world must be in force on a host."""
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
        """An answer by this world: how late it was."""
        if number >= len(self._done) or (delay := answer.sent - self._done[number]) <= 0:
            return Finding(answer, wrong, 0.0, excused=False, here=False)
        edit = self.history.edits[number]
        here = edit.host == answer.host
        bound = self.bounds.same_host if here else self.bounds.other_host
        return Finding(answer, wrong, delay, excused=wrong is None and delay > bound, here=here)


@dataclass
class Tally:
    """The findings of a run, or of one kind of fault, added up."""

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
        # What was let in too long is what counts: only that is a revocation.
        if finding.answer.status == 200 and not finding.excused:
            if finding.here:
                self.worst_here = max(self.worst_here, finding.delay)
            else:
                self.worst_elsewhere = max(self.worst_elsewhere, finding.delay)
