"""Runs the stages of bin/test, some side by side: while the processes of one stage wait, those of another compute.

A form of the suite is a list of steps, one after the other. The lanes of a step run side by side, the stages of a lane
one after the other; then a lane takes the next stage that none has taken. A stage prints its output when it ends. After
a failure no further stage begins.
"""

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

BASE = Path(__file__).resolve().parents[1]
NO_TESTS = 5
"""Exit code of pytest where a choice of tests chooses none."""


class Stage(NamedTuple):
    """A command, and what it shows."""

    words: str
    command: Sequence[str]


Lane = Sequence[Stage]


class Step(NamedTuple):
    """Lanes that run side by side, and stages for those that have come to their end."""

    lanes: Sequence[Lane]
    then: Lane = ()


class Suite:
    """Runs steps; knows whether a stage has failed."""

    def __init__(self, environment: dict[str, str], *, chosen: bool) -> None:
        self._environment = environment
        self._passes = {0, NO_TESTS} if chosen else {0}
        self._prints = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self.failed: list[str] = []
        """Stages that failed, each followed by its tests that did."""

    def run(self, step: Step) -> None:
        """Run the lanes of a step side by side."""
        then = iter(step.then)
        lanes = [threading.Thread(target=self._run_lane, args=(lane, then)) for lane in step.lanes]
        for lane in lanes:
            lane.start()
        try:
            for lane in lanes:
                lane.join()
        except BaseException:  # interrupted: let the running stages clean up
            self.failed.append("interrupted")
            for process in list(self._running):
                process.send_signal(signal.SIGINT)
            for lane in lanes:
                lane.join()
            raise

    def _run_lane(self, lane: Lane, then: Iterator[Stage]) -> None:
        for stage in chain(lane, then):
            if self.failed:
                return
            self._run_stage(stage)

    def _run_stage(self, stage: Stage) -> None:
        self._say(f"== {stage.words} ...")
        began = time.monotonic()
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(stage.command, cwd=BASE, env=self._environment, stdout=output, stderr=output)
            self._running.add(process)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self._running.discard(process)
            output.seek(0)
            said = output.read().decode(errors="replace")
        failed = process.returncode not in self._passes
        took = f"{time.monotonic() - began:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of CPU"
        self._say(f"{said.rstrip()}\n== {'FAILED: ' if failed else ''}{stage.words}: {took}")
        if failed:
            tests = [line for line in said.splitlines() if line.startswith(("FAILED ", "ERROR "))]
            self.failed.append("\n".join((stage.words, *tests)))

    def _say(self, text: str) -> None:
        with self._prints:
            print(text, flush=True)
