"""Follow the published shadow overlay in a process that answers, and report its figures. No Django.

A thread of its own: compiling a shadow policy must not delay the live one. The shadow policy is composed from the
tables of the live policy in memory, so users, tokens, revocations and bans are always the live ones.
"""

import json
import logging
import os
import secrets
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from threading import Event, Thread, Timer
from typing import Any

from gatewall.gate.shadow import Shadow, ShadowPolicy
from gatewall.kernel.file_io import replace_file
from gatewall.snapshot.assembly import Assembly, Built, SegmentData
from gatewall.snapshot.files import PolicyFiles, Stamp
from gatewall.snapshot.overlay import Overlay

logger = logging.getLogger(__name__)

FOLDER = "shadow"
"""Folder of the reports, below the run folder."""
LOOK_SECONDS, IDLE_SECONDS = 0.5, 1.0
"""Polling intervals, with and without a shadow policy."""
_REPORT_SECONDS = 1.0
_RECENT_SECONDS = 10.0
_DEAD_SECONDS = 30.0
"""An older report belongs to a dead process."""
_LEAST_PAUSE, _MOST_PAUSE, _MOST_CRASHES = 1.0, 60.0, 6
"""Seconds to the next attempt after an unexpected error."""
_LAYOUT = 1
"""Layout version of the report: processes of two releases may run at once."""
_RATES = ("answers", "selected", "evaluated", "answer_seconds", "shadow_seconds")


class ShadowFollower:
    """Loads the shadow policy of one process whenever the overlay or the live policy changes."""

    def __init__(self, files: PolicyFiles, built: Callable[[], Built | None], shadow: Shadow, reports: Path) -> None:
        """``built`` returns the live policy's tables."""
        self._files = files
        self._built = built
        self._shadow = shadow
        self._reports = reports
        self._path = reports / f"{os.getpid()}-{secrets.token_hex(4)}.json"
        self._assembly = Assembly(files.patterns)
        self._overlay: Overlay | None = None
        self._stamp: Stamp | None = None
        self._seen: Built | None = None
        self._recent: deque[tuple[float, dict[str, float]]] = deque()
        self._reported_at = float("-inf")
        self._crashes = 0
        self._stop = Event()
        self.problem = ""

    def start(self) -> None:
        Thread(target=self._watch, name="shadow", daemon=True).start()

    def close(self) -> None:
        self._stop.set()

    def turn(self) -> None:
        """Load what changed, and write the report once a second."""
        live, stamp = self._built(), None
        try:
            stamp = self._files.overlay_stamp()
            if stamp != self._stamp:
                self._overlay, self._seen, self.problem = None, None, ""
                self._overlay = self._files.overlay()
            if live is not self._seen:
                self._load(live)
        except (OSError, ValueError) as error:
            self._refuse(f"{type(error).__name__}: {error}")
        self._stamp, self._seen = stamp, live
        if stamp is None:
            self._overlay = None
            if self._shadow.policy is not None:
                self._shadow.use(None)
        self._report()

    def _load(self, live: Built | None) -> None:
        overlay = self._overlay
        if overlay is None or live is None:
            return
        if not overlay.is_of({name: identity for name, (identity, _) in live.tables.items()}):
            self._shadow.use(None)  # the agent compiles it again
            return
        segments = {
            name: SegmentData(each.ref.sha256, partial(self._files.segment, each.ref))
            for name, each in overlay.segments.items()
        }
        policy = self._assembly.build_over(live, segments, overlay.removed)
        self._shadow.use(ShadowPolicy(overlay.id, policy, overlay.percent, overlay.cpu_percent))
        self.problem = ""

    def _refuse(self, problem: str) -> None:
        if problem != self.problem:
            logger.error("shadow policy refused: %s", problem)
        self.problem = problem
        self._shadow.use(None)

    def _watch(self) -> None:
        try:
            while not self._stop.wait(IDLE_SECONDS if self._overlay is None else LOOK_SECONDS):
                self.turn()
                self._crashes = 0
        finally:
            if not self._stop.is_set():
                self._crashed(sys.exc_info()[0])

    def _crashed(self, error: type[BaseException] | None) -> None:
        """Start another thread after an unexpected error, which Python writes to stderr, with exponential back-off.

        The agent makes a security event from the error in the report.
        """
        after = Timer(min(_LEAST_PAUSE * 2**self._crashes, _MOST_PAUSE), self.start)
        after.daemon = True
        after.start()
        self._crashes = min(self._crashes + 1, _MOST_CRASHES)
        self._stamp = self._seen = None  # the next turn loads everything again
        self._refuse(f"{error.__name__ if error else 'an error'} (a bug)")
        with suppress(OSError):
            self._write_report(time.monotonic())

    def _report(self) -> None:
        now = time.monotonic()
        if now - self._reported_at < _REPORT_SECONDS:
            return
        self._reported_at = now
        with suppress(OSError):  # the next report is written in a second
            if self._stamp is None:
                self._path.unlink(missing_ok=True)
                self._recent.clear()
                return
            self._write_report(now)

    def _write_report(self, now: float) -> None:
        self._reports.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(self._path, json.dumps(self._state(now)).encode(), synced=False)

    def _state(self, now: float) -> dict[str, Any]:
        figures = asdict(self._shadow.figures)
        rates = {name: figures[name] for name in _RATES}
        if self._recent and self._recent[-1][1]["answers"] > rates["answers"]:
            self._recent.clear()  # figures of another shadow policy
        self._recent.append((now, rates))
        while now - self._recent[0][0] > _RECENT_SECONDS:
            self._recent.popleft()
        before = self._recent[0][1]
        return {
            "layout": _LAYOUT,
            "figures": figures,
            "recent": {name: rates[name] - before[name] for name in _RATES},
            "active": self._shadow.policy is not None,
            "overlay": self._overlay.id if self._overlay else "",
            "problem": (self.problem or self._shadow.fault)[:200],
        }


def reports_folder(run: Path) -> Path:
    """Return the folder of the reports of this host's processes."""
    return run / FOLDER


def read_reports(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the reports of living processes, by file name; remove those of dead ones."""
    found = {}
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else []:
        with suppress(OSError, ValueError, AttributeError):
            if abs(time.time() - path.stat().st_mtime) > _DEAD_SECONDS:
                path.unlink()
            elif (report := json.loads(path.read_bytes())).get("layout") == _LAYOUT:
                found[path.stem] = report
    return found
