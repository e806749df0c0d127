"""Long run of the access log's fault tests: ``python -m tests.kill_test --minutes 30 --kills 1000 --seed 1``.

Prints its progress and a report for docs/reliability.md. Exits with 1 if a record is lost without a gap, duplicated,
wrong, or counted wrong.
"""

import argparse
import random
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from tests.kill_test import nemesis, report
from tests.kill_test.account import Account, StoredLog, account_of
from tests.kill_test.disk import small_disk
from tests.kill_test.faults import Scene
from tests.kill_test.stage import Stage
from tests.kill_test.visitors import Ledger, Visitors
from tests.postgres import server
from tests.support.processes import set_up
from tests.support.servers import furnish, right_answers

DISK = "32m"


def main() -> int:
    """Run until the kills are done or the time is over; return 1 if the log is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.kill_test", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))  # noqa: S311 - it is printed
    parser.add_argument("--rate", type=float, default=150, help="requests a second")
    parser.add_argument("--postgresql", action="store_true", help="on a PostgreSQL of its own, not on SQLite")
    parser.add_argument("--report", type=Path, help="where to write the report, too")
    wanted = parser.parse_args()
    text, wrong = _run(wanted)
    print(text)
    if wanted.report:
        wanted.report.write_text(text + "\n")
    return 1 if wrong else 0


def _run(wanted: argparse.Namespace) -> tuple[str, list[str]]:
    with ExitStack() as ends:
        home = Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="gatewall-log-")))
        database = ends.enter_context(server()) if wanted.postgresql else None
        url = {"DATABASE_URL": database.url} if database else {}
        set_up(home, **url)
        disk = ends.enter_context(small_disk(home / "spool", DISK))
        stage = ends.enter_context(Stage(home, inside=disk.inside, **url))
        stage.start("auth", "control", "agent")
        ledger, stored_log = Ledger(), StoredLog(home, disk.seen, url.get("DATABASE_URL", ""))
        ports = [stage.auth] * 4 + [stage.control] * 2
        visitors = Visitors(ledger, ports, right_answers(furnish(stage.control)), rate=wanted.rate)
        scene = Scene(stage, stored_log, visitors, random.Random(wanted.seed), disk, database)  # noqa: S311 - a seed
        began = time.monotonic()
        with visitors:
            events = nemesis.run(
                scene,
                seconds=wanted.minutes * 60,
                kills=wanted.kills,
                say=lambda words: _say(began, stage.kills, ledger, words),
            )
        stored_log.settle(180)
        account = account_of(ledger, stored_log)
        wrong = report.failures(account, ledger)
        return _report(wanted, scene, events, account, wrong, time.monotonic() - began), wrong


def _say(began: float, kills: int, ledger: Ledger, words: str) -> None:
    print(f"{time.monotonic() - began:7.1f} s {kills:5} kills {len(ledger.answers):8} answers  {words}", flush=True)


def _report(
    wanted: argparse.Namespace,
    scene: Scene,
    events: list[nemesis.Event],
    account: Account,
    wrong: list[str],
    seconds: float,
) -> str:
    ledger = scene.visitors.ledger
    kind = "PostgreSQL" if wanted.postgresql else "SQLite"
    return "\n\n".join(
        [
            (
                f"{kind}, seed {wanted.seed}, {wanted.rate:g} requests a second, {seconds / 60:.0f} minutes; "
                f"{report.machine()}."
            ),
            report.summary(account, ledger, scene.stage.kills),
            report.table(events, account, ledger, scene.stored_log),
            (
                f"Processes that ended by themselves and were restarted: {len(scene.stage.ended)}. "
                f"Workers that outlived their killed master for long and were ended: {scene.stage.slow_exits}."
            ),
            *scene.stage.ended,
            *(f"FAILED: {words}" for words in wrong),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
