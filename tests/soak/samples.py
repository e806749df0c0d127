"""Sample the resources of a running installation from outside."""

import os
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self

import psutil

from tests.kill_test.stage import Stage

MEBIBYTE = 2**20
Sample = Mapping[str, float]


class Sampler:
    """Takes samples at this interval from a thread, the first immediately."""

    def __init__(self, stage: Stage, every: float) -> None:
        self._stage = stage
        self._every = every
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._processes = _processes_of(stage)
        self.samples: list[Sample] = []
        self.replaced: set[str] = set()
        """Processes that have been replaced since the start."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        due = time.monotonic()
        while not self._stop.wait(max(0.0, due - time.monotonic())):
            self.samples.append({**self._memory(), **files_of(self._stage.home)})
            due += self._every

    def _memory(self) -> Sample:
        found: dict[str, float] = {}
        for name, process in self._processes.items():
            try:
                memory = process.memory_full_info()
            except psutil.NoSuchProcess:
                self.replaced.add(name)
                continue
            found[f"RSS of {name}, MiB"] = memory.rss / MEBIBYTE
            found[f"PSS of {name}, MiB"] = memory.pss / MEBIBYTE
        return found


def _processes_of(stage: Stage) -> dict[str, psutil.Process]:
    found = {"agent": psutil.Process(stage.process("agent"))}
    for plane, name in (("control", "control plane"), ("auth", "data plane")):
        found[f"{name}: master"] = psutil.Process(stage.process(plane))
        for number, worker in enumerate(stage.workers(plane), 1):
            found[f"{name}: worker {number}"] = psutil.Process(worker)
    return found


def files_of(home: Path) -> Sample:
    """Return number and size of the files of a state folder; the database's by name."""
    sizes = dict(_sizes(home))
    segments = [size for path, size in sizes.items() if path.startswith("policy/segments/")]
    database = {name: sizes.get(f"gatewall.sqlite3{name}", 0) / MEBIBYTE for name in ("", "-wal")}
    return {
        "files": len(sizes),
        "policy segments": len(segments),
        "policy segments, MiB": sum(segments) / MEBIBYTE,
        "spool, MiB": sum(size for path, size in sizes.items() if path.startswith("spool/")) / MEBIBYTE,
        "database, MiB": database[""],
        "WAL, MiB": database["-wal"],
    }


def _sizes(home: Path) -> list[tuple[str, int]]:
    found = []
    for folder, _folders, names in os.walk(home):
        for name in names:
            path = Path(folder, name)
            with suppress(FileNotFoundError):  # deleted meanwhile
                found.append((str(path.relative_to(home)), path.stat().st_size))
    return found
