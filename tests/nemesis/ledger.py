"""Ledger of answers, one per line: request, times, response, plane and host."""

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
    """An answer, with monotonic times before the request's first byte and after the answer's last byte."""

    question: Question
    sent: float
    received: float
    status: int
    reason: str
    host: str
    plane: str


class Counts(NamedTuple):
    """Counts of the visitors, in the order of ``crowd.COUNTS``."""

    answers: int = 0
    errors: int = 0
    broken: int = 0
    refused: int = 0
    again: int = 0


class Ledger:
    """Reads what the visitors record; up to a tenth of a second behind."""

    def __init__(self, folder: Path, places: Sequence[tuple[str, str]]) -> None:
        """``places`` has host and plane of each endpoint."""
        self._folder = folder
        self._places = places
        self._moments = [array("d") for _ in places]

    @property
    def counts(self) -> Counts:
        """Return the counts of the last batch."""
        try:
            data = (self._folder / "counts").read_bytes()
        except FileNotFoundError:
            return Counts()
        return Counts(*COUNTS.unpack(data)) if len(data) == COUNTS.size else Counts()

    def silences(self, since: float, until: float) -> dict[str, float]:
        """Return the longest silence of any data plane and any control plane."""
        found: dict[str, float] = {}
        for endpoint, (_host, plane) in enumerate(self._places):
            pause = longest_pause(self._moments_of(endpoint), since, until)
            found[plane] = max(found.get(plane, 0.0), pause)
        return found

    def read(self, part: int = 0, parts: int = 1) -> Iterator[Answered]:
        """Yield all answers in order, or one of ``parts`` parts of them."""
        path = self._folder / "ledger.tsv"
        size = path.stat().st_size
        start, end = size * part // parts, size * (part + 1) // parts
        with path.open("rb") as lines:
            if start:
                lines.seek(start - 1)
                lines.readline()  # belongs to the previous part
            position = lines.tell()
            while position < end and (line := lines.readline()):
                position += len(line)
                yield self._answer(line.decode("ascii"))

    def repeated(self) -> int:
        """Return the number of answers with a decision id that was used before."""
        with (self._folder / "ledger.tsv").open("rb") as lines:
            ids = [line[:36] for line in lines]
        return len(ids) - len(set(ids))

    def _answer(self, line: str) -> Answered:
        _, client, host, uri, kind, key, sent, received, status, reason, endpoint = line.rstrip("\n").split("\t")
        question = Question(client, host, uri, kind, key)
        return Answered(question, float(sent), float(received), int(status), reason, *self._places[int(endpoint)])

    def _moments_of(self, endpoint: int) -> "array[float]":
        """Return the times, including those written since."""
        known = self._moments[endpoint]
        with (self._folder / f"moments-{endpoint}").open("rb") as file:
            file.seek(len(known) * known.itemsize)
            new = file.read()
        known.frombytes(new[: len(new) // known.itemsize * known.itemsize])
        return known


def longest_pause(moments: "array[float]", since: float, until: float) -> float:
    """Return the longest time without one of these moments, which are in order."""
    inside = [since, *moments[bisect_left(moments, since) : bisect_right(moments, until)], until]
    return max(after - before for before, after in itertools.pairwise(inside))


def clean(folder: Path) -> None:
    """Delete the files of a previous run."""
    for path in (folder / "ledger.tsv", folder / "counts", *folder.glob("moments-*")):
        if path.exists():
            os.unlink(path)  # noqa: PTH108 - as the rest
