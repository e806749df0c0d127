"""Soak test: the shipped processes under a constant load."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.kill_test.account import Account, StoredLog, account_of
from tests.kill_test.stage import Stage
from tests.kill_test.visitors import Ledger, Visitors
from tests.postgres import server
from tests.soak.callers import Editor, Outcome, Paced, Rows, SignIns
from tests.soak.samples import Sample, Sampler
from tests.support.processes import prepare, set_up
from tests.support.servers import OFFICE, SESSION_VALID, RightAnswers, Verdict, about, furnish, right_answers

_CLIENTS = 500
_SAMPLES = 240
_DATA_PLANE, _CONTROL_PLANE = 8, 2
"""Connections: proxies use the data plane; the control plane answers, too."""


@dataclass(frozen=True)
class Load:
    """Rates per second, and the duration."""

    minutes: float = 20
    answers: float = 150
    edits: float = 1
    sign_ins: float = 0.5
    rows: float = 1
    """Answers whose row is awaited over the API."""


@dataclass(frozen=True)
class Soaked:
    """Results of a soak test."""

    seconds: float
    ledger: Ledger
    account: Account
    edits: Outcome
    sign_ins: Outcome
    rows: Rows
    samples: Sequence[Sample]
    replaced: frozenset[str]
    complaints: Counter[str]
    """Lines of the processes' logs by level and process."""


@contextmanager
def installed(home: Path, *, postgresql: bool) -> Iterator[tuple[Stage, StoredLog]]:
    """Create an installation and run both planes and the agent as shipped."""
    with ExitStack() as ends:
        changes = {"DATABASE_URL": ends.enter_context(server()).url} if postgresql else {}
        if postgresql:
            set_up(home, **changes)
        else:
            prepare(home)
        stage = ends.enter_context(Stage(home, **changes))
        stage.start("auth", "control", "agent")
        yield stage, StoredLog(home, home / "spool", changes.get("DATABASE_URL", ""))


def soak(stage: Stage, stored_log: StoredLog, load: Load, say: Callable[[str], None]) -> Soaked:
    """Apply the load for its duration; return the results once the spool is in the database."""
    token = furnish(stage.control)
    ledger = Ledger()
    editor, sign_ins = Editor(stage.control, token), SignIns(stage.control, token)
    rows = Rows(ledger, stage.auth, stage.control, token)
    ports = [stage.auth] * _DATA_PLANE + [stage.control] * _CONTROL_PLANE
    visitors = Visitors(ledger, ports, _questions(token), rate=load.answers)
    sampler = Sampler(stage, max(0.5, load.minutes * 60 / _SAMPLES))
    began = time.monotonic()
    with (
        visitors,
        Paced(editor.change, load.edits),
        Paced(sign_ins.sign_in, load.sign_ins),
        Paced(rows.follow_one, load.rows),
        sampler,
    ):
        while (left := began + load.minutes * 60 - time.monotonic()) > 0:
            time.sleep(min(left, 30))
            errors = ledger.errors() + editor.outcome.errors + sign_ins.outcome.errors + rows.outcome.errors
            say(f"{len(ledger.answers)} answers, {len(editor.outcome.seconds)} edits, {errors} errors")
    seconds = time.monotonic() - began
    stored_log.settle(300)
    complaints = Counter(_log_lines(stage.home))
    account = account_of(ledger, stored_log)
    outcomes = editor.outcome, sign_ins.outcome, rows
    return Soaked(seconds, ledger, account, *outcomes, sampler.samples, frozenset(sampler.replaced), complaints)


def _questions(token: str) -> RightAnswers:
    """Return the requests of proxies: most with a valid session, from many addresses; some are refused."""
    visits = [
        (
            about(
                client=f"198.18.{number // 250}.{number % 250 + 1}",
                uri=f"/page/{number}?find={number}",
                Service_Authorization=token,
                User_Agent=f"Mozilla/5.0 (X11; Linux x86_64; rv:{number % 20 + 100}.0) Gecko/20100101 Firefox/140.0",
            ),
            Verdict(*SESSION_VALID),
        )
        for number in range(_CLIENTS)
    ]
    refused = right_answers(token)[1:]
    assert refused[-1][0]["X-Forwarded-Host"] == OFFICE
    return [question for number, visit in enumerate(visits) for question in (visit, refused[number % len(refused)])]


def _log_lines(home: Path) -> Iterator[str]:
    for path in sorted(home.glob("*.log")):
        for line in path.read_text(errors="replace").splitlines():
            for level in ("WARNING", "ERROR", "CRITICAL", "Traceback"):
                if level in line:
                    yield f"{path.stem}: {level}"
