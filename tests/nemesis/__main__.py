"""Long run of the policy's fault tests: ``python -m tests.nemesis --minutes 30 --seed 1``.

Prints its progress and a report for docs/reliability.md. Exits with 1 if a visitor was let in or refused against every
policy that may have been in force.
"""

import argparse
import math
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.kill_test.report import machine
from tests.nemesis import faults, network, report, run
from tests.nemesis.checker import Bounds
from tests.nemesis.hosts import Means, Play, play
from tests.nemesis.visitors import Editor


def main() -> int:
    """Run until the time is over; return 1 if an answer was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.nemesis", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))  # noqa: S311 - it is printed
    parser.add_argument("--answers", type=float, default=math.inf, help="end after so many, if the time is not over")
    parser.add_argument("--rate", type=float, default=1000, help="requests a second, all hosts together")
    parser.add_argument("--edits", type=float, default=5, help="changes a second, at most")
    parser.add_argument(
        "--postgresql", action="store_true", help="on a PostgreSQL, each host behind a proxy of its own"
    )
    parser.add_argument("--hosts", type=int, default=2, help="with --postgresql")
    parser.add_argument("--only", action="append", default=[], help="this fault alone, by its name in the report")
    parser.add_argument("--report", type=Path, help="where to write the report, too")
    parser.add_argument("--ledger", type=Path, help="where to keep what was asked and answered")
    wanted = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # stop all child processes
    with tempfile.TemporaryDirectory(prefix="gatewall-nemesis-") as folder:
        home = wanted.ledger or Path(folder)
        home.mkdir(parents=True, exist_ok=True)
        text, wrong = _run(wanted, home)
    print(text)
    if wanted.report:
        wanted.report.write_text(text + "\n")
    return 1 if wrong else 0


def _run(wanted: argparse.Namespace, home: Path) -> tuple[str, list[str]]:
    began, obstacle = time.monotonic(), network.why_not() if wanted.postgresql else "one host"
    means = Means(wanted.hosts if wanted.postgresql else 0, cached=True, apart=not obstacle)
    with play(home, seed=wanted.seed, rate=wanted.rate, means=means) as scene:
        with scene.visitors, Editor(scene.workload, rate=wanted.edits) as editor:
            events = run.at_random(
                scene,
                editor,
                seconds=wanted.minutes * 60,
                say=lambda words: _say(began, scene, editor, words),
                answers=wanted.answers,
                faults=_named(scene, wanted.only),
            )
        if editor.failure:
            raise editor.failure
        result = report.result_of(scene, events, Bounds())
        wrong = report.failures(result.whole) + report.unanswered(events)
        return _report(wanted, scene, editor, events, result, wrong, time.monotonic() - began, obstacle), wrong


def _named(scene: Play, names: list[str]) -> list[faults.Fault]:
    """Return an endless cycle of these faults; by default of all."""
    known = [*faults.possible(scene), *faults.BY_NAME_ALONE]
    return [fault for fault in known if fault.__name__.replace("_", " ") in names] * 1000


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
    obstacle: str,
) -> str:
    kind = f"{wanted.hosts} hosts, PostgreSQL" if wanted.postgresql else "One host, SQLite"
    kind += ", Valkey, " + (f"no network namespaces ({obstacle})" if obstacle else "a network namespace for each host")
    said = Counter(f"{plane} plane: {words}" for plane, words, _seconds in faults.HEALTH)
    alarms = [f"`/health` of a host that is cut off, and how often: {dict(said)}."] if said else []
    if faults.ALARMS:
        after = ", ".join(f"{seconds:.1f}" for seconds in faults.ALARMS)
        alarms.append(f"Without database and cache, each data plane reported it after {after} s.")
    return "\n\n".join(
        [
            f"{kind}, seed {wanted.seed}, {wanted.rate:g} requests a second, {seconds / 60:.0f} minutes; {machine()}.",
            report.summary(scene, result, editor.changes),
            *alarms,
            report.table(events, result),
            *(f"FAILED: {words}" for words in wrong),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
