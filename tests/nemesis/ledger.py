"""One line of JSON for each answer: what was asked, when, what came when, and from which plane of which host."""

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from tests.nemesis.oracle import Question
from tests.trail.visitors import Ledger, longest_pause


class Answered(NamedTuple):
    """An answer, and the moments (monotonic) before the first byte of the question and after the last of the answer."""

    question: Question
    sent: float
    received: float
    status: int
    reason: str
    host: str
    plane: str


class WrittenLedger(Ledger):
    """The ledger of the visitors, which is on the disk besides."""

    def __init__(self, path: Path, places: dict[int, tuple[str, str]]) -> None:
        """``places`` has the host and the plane of each port."""
        super().__init__()
        self._path = path
        self._file = path.open("w")
        self._places = places
        self._writing = threading.Lock()

    def write(self, port: int, decision: UUID, answer: tuple[int, str], question: Question, sent: float) -> None:
        """Write down an answer that came just now."""
        received, (status, reason), (host, plane) = time.monotonic(), answer, self._places[port]
        self.add(port, decision, status, 200 if status >= 500 else status, sent)
        line = [str(decision), question, sent, received, status, reason, host, plane]
        with self._writing:
            self._file.write(json.dumps(line, separators=(",", ":")) + "\n")

    def silences(self, since: float, until: float) -> dict[str, float]:
        """The longest time that one of the data planes, and one of the control planes, gave no answer."""
        found: dict[str, float] = {}
        for port, moments in list(self.times.items()):
            plane = self._places[port][1]
            found[plane] = max(found.get(plane, 0.0), longest_pause(moments, since, until))
        return found

    def close(self) -> None:
        """Write what is left, and no more."""
        self._file.close()

    def read(self) -> Iterator[Answered]:
        """All answers, in the order in which they came."""
        with self._writing:
            self._file.flush()
        with self._path.open() as lines:
            for line in lines:
                _decision, question, *others = json.loads(line)
                yield Answered(Question(*question), *others)
