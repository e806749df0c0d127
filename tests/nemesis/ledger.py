"""One line for each answer: what was asked, when, what came when, and from which plane of which host."""

import itertools
import os
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.nemesis.crowd import COUNTS
from tests.nemesis.oracle import Question


class Answered(NamedTuple):
    """An answer, and the moments (monotonic) before the first byte of the question and after the last of the answer."""

    question: Question
    sent: float
    received: float
    status: int
    reason: str
    host: str
    plane: str


class Counts(NamedTuple):
    """What the visitors have counted, as ``crowd.COUNTS`` has it."""

    answers: int = 0
    errors: int = 0
    broken: int = 0
    refused: int = 0
    again: int = 0


class Ledger:
    """What the visitors write down, for others to read. It is behind by a tenth of a second."""

    def __init__(self, folder: Path, places: Sequence[tuple[str, str]]) -> None:
        """``places`` has the host and the plane of each door."""
        self._folder = folder
        self._places = places
        self._moments = [array("d") for _ in places]

    @property
    def counts(self) -> Counts:
        """As of the last batch."""
        try:
            data = (self._folder / "counts").read_bytes()
        except FileNotFoundError:
            return Counts()
        return Counts(*COUNTS.unpack(data)) if len(data) == COUNTS.size else Counts()

    def silences(self, since: float, until: float) -> dict[str, float]:
        """The longest time that one of the data planes, and one of the control planes, gave no answer."""
        found: dict[str, float] = {}
        for door, (_host, plane) in enumerate(self._places):
            pause = longest_pause(self._moments_of(door), since, until)
            found[plane] = max(found.get(plane, 0.0), pause)
        return found

    def read(self, part: int = 0, parts: int = 1) -> Iterator[Answered]:
        """All answers in the order in which they came, or one of so many parts of them."""
        path = self._folder / "ledger.tsv"
        size = path.stat().st_size
        start, end = size * part // parts, size * (part + 1) // parts
        with path.open("rb") as lines:
            if start:
                lines.seek(start - 1)
                lines.readline()  # it belongs to the part before
            position = lines.tell()
            while position < end and (line := lines.readline()):
                position += len(line)
                yield self._answer(line.decode("ascii"))

    def repeated(self) -> int:
        """How many answers name a decision that another one named before."""
        with (self._folder / "ledger.tsv").open("rb") as lines:
            ids = [line[:36] for line in lines]
        return len(ids) - len(set(ids))

    def _answer(self, line: str) -> Answered:
        _, client, host, uri, kind, key, sent, received, status, reason, door = line.rstrip("\n").split("\t")
        question = Question(client, host, uri, kind, key)
        return Answered(question, float(sent), float(received), int(status), reason, *self._places[int(door)])

    def _moments_of(self, door: int) -> "array[float]":
        """Read what was written since."""
        known = self._moments[door]
        with (self._folder / f"moments-{door}").open("rb") as file:
            file.seek(len(known) * known.itemsize)
            new = file.read()
        known.frombytes(new[: len(new) // known.itemsize * known.itemsize])
        return known


def longest_pause(moments: "array[float]", since: float, until: float) -> float:
    """The longest time without one of these moments, in order, between two others."""
    inside = [since, *moments[bisect_left(moments, since) : bisect_right(moments, until)], until]
    return max(after - before for before, after in itertools.pairwise(inside))


def clean(folder: Path) -> None:
    """Begin anew: what a run before this one left is deleted."""
    for path in (folder / "ledger.tsv", folder / "counts", *folder.glob("moments-*")):
        if path.exists():
            os.unlink(path)  # noqa: PTH108 - as the rest
