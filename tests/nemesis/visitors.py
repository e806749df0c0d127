"""Visitors who ask about a town whose policy changes, and the editor who changes it."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

from tests.nemesis.ledger import Ledger
from tests.nemesis.workload import Town
from tests.support.processes import BASE


class Door(NamedTuple):
    """A port that visitors ask: which plane of which host it is, over how many connections, how often a second."""

    address: str
    port: int
    host: str
    plane: str
    connections: int
    rate: float


class TownVisitors:
    """Ask at each door over keep-alive connections, from a process of their own (``tests/nemesis/crowd.py``)."""

    def __init__(self, folder: Path, ledger: Ledger, doors: Sequence[Door], town: Town, *, seed: int) -> None:
        self._folder = folder
        self._ledger = ledger
        self._town = town
        self._orders = {"folder": str(folder), "seed": seed, "doors": [door._asdict() for door in doors]}
        self._process: subprocess.Popen[bytes] | None = None
        self._writing = threading.Lock()

    def __enter__(self) -> Self:
        with (self._folder / "crowd.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.nemesis.crowd"], cwd=BASE, stdin=subprocess.PIPE, stderr=log
            )
        self._tell(self._orders)
        self._town.tell_credentials(self._tell)
        self.wait_for_more(1)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._town.tell_credentials(lambda _credentials: None)
        self._process.stdin.close()
        assert self._process.wait(30) == 0, (self._folder / "crowd.log").read_text()[-4000:]

    def wait_for_more(self, answers: int = 100, seconds: float = 120) -> None:
        """Return after so many answers more; fail when they do not come."""
        goal, deadline = self._ledger.counts.answers + answers, time.monotonic() + seconds
        while (there := self._ledger.counts.answers) < goal:
            assert time.monotonic() < deadline, f"{goal - there} of {answers} answers did not come"
            time.sleep(0.02)

    def _tell(self, words: dict[str, object]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        with self._writing:
            self._process.stdin.write(json.dumps(words).encode() + b"\n")
            self._process.stdin.flush()


class Editor:
    """Changes the town without an end, so many times a second at most, from a thread of its own."""

    def __init__(self, town: Town, *, rate: float) -> None:
        self._town = town
        self._between = 1 / rate
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.failure: BaseException | None = None
        self.changes = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._stop.wait(self._between):
                self._town.change()
                self.changes += 1
        except BaseException as failure:  # noqa: BLE001 - whoever waits for the run is told
            self.failure = failure
