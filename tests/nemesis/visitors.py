"""Visitors of a workload whose policy changes, and the editor that changes it."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

from tests.nemesis.ledger import Ledger
from tests.nemesis.workload import Workload
from tests.support.processes import BASE


class Endpoint(NamedTuple):
    """A port with its plane and host, and the visitors' connections and rate."""

    address: str
    port: int
    host: str
    plane: str
    connections: int
    rate: float


class WorkloadVisitors:
    """Visitors over keep-alive connections, in a process of their own (``tests/nemesis/crowd.py``)."""

    def __init__(
        self, folder: Path, ledger: Ledger, endpoints: Sequence[Endpoint], workload: Workload, *, seed: int
    ) -> None:
        self._folder = folder
        self._ledger = ledger
        self._workload = workload
        self._orders = {
            "folder": str(folder),
            "seed": seed,
            "endpoints": [endpoint._asdict() for endpoint in endpoints],
        }
        self._process: subprocess.Popen[bytes] | None = None
        self._writing = threading.Lock()

    def __enter__(self) -> Self:
        with (self._folder / "crowd.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.nemesis.crowd"], cwd=BASE, stdin=subprocess.PIPE, stderr=log
            )
        self._send(self._orders)
        self._workload.call_with_credentials(self._send)
        self.wait_for_more(1)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._workload.call_with_credentials(lambda _credentials: None)
        self._process.stdin.close()
        assert self._process.wait(30) == 0, (self._folder / "crowd.log").read_text()[-4000:]

    def wait_for_more(self, answers: int = 100, seconds: float = 120) -> None:
        """Return after this many more answers; fail on a timeout."""
        goal, deadline = self._ledger.counts.answers + answers, time.monotonic() + seconds
        while (there := self._ledger.counts.answers) < goal:
            assert time.monotonic() < deadline, f"{goal - there} of {answers} answers did not come"
            time.sleep(0.02)

    def _send(self, words: dict[str, object]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        with self._writing:
            self._process.stdin.write(json.dumps(words).encode() + b"\n")
            self._process.stdin.flush()


class Editor:
    """Changes the workload continuously at a limited rate, in a thread."""

    def __init__(self, workload: Workload, *, rate: float) -> None:
        self._workload = workload
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
                self._workload.change()
                self.changes += 1
        except BaseException as failure:  # noqa: BLE001 - raised again in the waiting thread
            self.failure = failure
