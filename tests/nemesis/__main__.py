"""The long form of the fault tests of the policy: ``python -m tests.nemesis --minutes 30 --seed 1``.

Prints what it does, and at the end the report for docs/reliability.md. Ends with 1 if anybody was let in whom every
policy in force denied, or refused whom they allowed.
"""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.nemesis import faults, report, run
from tests.nemesis.checker import Bounds
from tests.nemesis.hosts import Play, play
from tests.nemesis.visitors import Editor
from tests.trail.report import machine


def main() -> int:
    """Run until the time is over; 1 if an answer was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.nemesis", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))  # noqa: S311 - it is printed
    parser.add_argument("--rate", type=float, default=150, help="questions a second")
    parser.add_argument("--edits", type=float, default=5, help="changes a second, at most")
    parser.add_argument(
        "--postgresql", action="store_true", help="on a PostgreSQL, each host behind a proxy of its own"
    )
    parser.add_argument("--hosts", type=int, default=2, help="with --postgresql")
    parser.add_argument("--report", type=Path, help="where to write the report, too")
    parser.add_argument("--ledger", type=Path, help="where to keep what was asked and answered")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gatewall-nemesis-") as folder:
        home = wanted.ledger or Path(folder)
        home.mkdir(parents=True, exist_ok=True)
        text, wrong = _run(wanted, home)
    print(text)
    if wanted.report:
        wanted.report.write_text(text + "\n")
    return 1 if wrong else 0


def _run(wanted: argparse.Namespace, home: Path) -> tuple[str, list[str]]:
    began = time.monotonic()
    hosts = wanted.hosts if wanted.postgresql else 0
    with play(home, seed=wanted.seed, rate=wanted.rate, hosts=hosts) as scene:
        with scene.visitors, Editor(scene.town, rate=wanted.edits) as editor:
            events = run.at_random(
                scene, editor, seconds=wanted.minutes * 60, say=lambda words: _say(began, scene, editor, words)
            )
        if editor.failure:
            raise editor.failure
        result = report.result_of(scene, events, Bounds())
        wrong = report.failures(result.whole)
        return _report(wanted, scene, editor, events, result, wrong, time.monotonic() - began), wrong


def _say(began: float, scene: Play, editor: Editor, words: str) -> None:
    counts = scene.ledger.counts
    done = f"{editor.changes:5} changes {counts.answers:7} answers {counts.errors} 5xx"
    print(f"{time.monotonic() - began:7.1f} s {done}  {words}", flush=True)


def _report(
    wanted: argparse.Namespace,
    scene: Play,
    editor: Editor,
    events: list[report.Event],
    result: report.Result,
    wrong: list[str],
    seconds: float,
) -> str:
    kind = f"{wanted.hosts} hosts, PostgreSQL" if wanted.postgresql else "One host, SQLite"
    said = Counter(f"{plane} plane: {words}" for plane, words, _seconds in faults.HEALTH)
    alarms = [f"`/health` of a host that is cut off, and how often: {dict(said)}."] if said else []
    return "\n\n".join(
        [
            f"{kind}, seed {wanted.seed}, {wanted.rate:g} questions a second, {seconds / 60:.0f} minutes; {machine()}.",
            report.summary(scene, result, editor.changes),
            *alarms,
            report.table(events, result),
            *(f"FAILED: {words}" for words in wrong),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
