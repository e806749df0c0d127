"""List the stages of bin/test, and run those of the requested form (tests/suite.py)."""

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

from tests.suite import BASE, Lane, Stage, Step, Suite

PYTHON = sys.executable
MEMORY, ROOM = Path("/dev/shm"), 2 * 2**30  # noqa: S108 - a new folder below it
"""Where temporary files lie in memory, and the bytes that a run may take."""
COMPUTING = min(os.cpu_count() or 2, 4)
"""Processes of a stage that computes."""
WAITING = 3
"""Processes of a stage whose tests wait for other processes most of the time."""


STATIC: Lane = (
    Stage("Lint: ruff", ("ruff", "check")),
    Stage("Format: ruff", ("ruff", "format", "--check")),
    Stage("Who imports whom: import-linter", ("lint-imports",)),
    Stage("Migrations are complete", (PYTHON, "manage.py", "makemigrations", "--check", "--dry-run")),
    Stage("Types: mypy", ("mypy",)),
)
COVERED = Stage("Every branch of the code that decides is covered", (PYTHON, "-m", "coverage", "report"))
MEASURED = ("--cov", "--cov-report=", "--cov-fail-under=0")  # judged when all is counted
BY_MODULE = ("--dist", "loadfile", "--no-loadscope-reorder")  # what a module starts is started once

KILLS = Stage(
    "The access log while processes are killed at random",
    (PYTHON, "-m", "tests.kill_test", "--minutes", "2", "--seed", "6"),
)
SOAK = Stage("Nothing grows in a soak of 20 minutes", (PYTHON, "-m", "tests.soak", "--minutes", "20"))


def files(folder: str, *names: str) -> tuple[str, ...]:
    """Return the paths of these test modules; a name may have wildcards."""
    found = [path for name in names for path in sorted((BASE / folder).glob(f"test_{name}.py"))]
    return tuple(str(path.relative_to(BASE)) for path in found)


def ignored(paths: Sequence[str]) -> tuple[str, ...]:
    """Return the arguments that leave these modules out."""
    return tuple(f"--ignore={path}" for path in paths)


CONTRACT, SIGN_IN_RACES = "tests/contract", "tests/servers/test_sign_in_races.py"
DOCUMENT_IS_TRUE = "Every answer is as the OpenAPI document says"
UNIT = ("-p", "no:django", "tests/unit")  # pure code: what needs Django's settings is in tests/integration
COVERING = files("tests/integration", "throttling_counts", "throttling_delays", "plain_claims", "messages")
"""Those with Django that reach branches of the code that decides."""
UNMEASURED = files(
    "tests/unit",
    *("backtest", "backup_archive", "call_counts", "dialects", "document_yaml", "doctor"),
    *("files_on_disk", "geo_ranges", "http1", "mask*", "mutants", "oracle", "queues", "record_of"),
    *("redecision_properties", "responses", "routes", "shadow_many", "spool*", "summaries", "totp"),
    *("waf_own_corpora", "worker_report", "write_queue"),
    *("documents", "losses", "notification", "optional_imports"),
    *("browser_answers", "change_reach", "cookie_domain", "detectors", "evaluate_access_rules", "holder", "published"),
    *("redecision", "rule_costs", "rule_paths", "shadow", "signed_identity", "waf_alternatives"),
    *("waf_builtin", "waf_hidden_attacks", "waf_hits"),
)
"""They reach no branch that others do not, and take twice as long where branches are counted."""
TYPED = (
    *files("tests/integration", "backup", "restore_revoked"),
    *files(
        "tests/docs",
        *(
            "api_examples",
            "backup_page",
            "how_to_pages",
            "https_page",
            "operator_pages",
            "site",
            "troubleshooting",
            "tutorial",
        ),
    ),
)
"""They run commands and servers, unlike their neighbors."""
CALLS = ("tests/api", "tests/gate")
SERVICES = ("tests/integration", *ignored((*COVERING, *TYPED)))
PAGES = ("tests/admin", "tests/console", "tests/docs", "tests/architecture", *ignored(TYPED))
DISK = "tests/faults/test_log_disk.py"
WITH_PROCESSES = (
    *("tests/faults", "tests/servers", "tests/deploy", "tests/proxies", "tests/browser"),
    *(*TYPED, f"--ignore={DISK}"),
)


# Visitor pages, commands, files, downloads and other processes: they do not depend on the database.
ON_SQLITE_ALONE = files(
    "tests/integration",
    *("*_page", "*_pages", "account_*", "guard_*", "hand_off", "languages", "return_url", "step_up", "sign_in_secrets"),
    *("*commands", "*_command", "exit_codes", "deploy_checks", "rotate_keys", "policy_command_remote", "ports"),
    *("benches", "*_clocks", "list_fetching", "*_refused", "reloads_at_once", "disk_trouble", "damaged_publication"),
    *("geo_*", "downloads", "posting", "webhook_sender", "hashing", "sign_in_flood", "weak_secrets", "keyed_digests"),
    *("caches", "shared_cache", "engine_exit", "health", "many_waf_rules", "sqlite_*", "first_users"),
    *("as_of", "plans_come_true", "shadow_planes", "unconfirmed", "watch_again", "watch_attacks"),
    *("supervisor", "provider_trouble", "link_passkey*", "remembered_devices", "backtest_proposals"),
    *("*_bench", "*environment", "watch", "provider_tokens", "branding", "smtp", "unban", "first_start"),
    *("translations", "text_fields", "passkey_ceremonies", "sign_in_methods"),
    *("access_conditions", "app_profile*", "country_choices", "waf_rule_rows"),
)
# Locks, transactions, order, filters, texts that a database accepts.
DATABASE_DECIDES = (
    *("tests/integration", *ignored(ON_SQLITE_ALONE)),
    *files("tests/gate", "freshness", "revisions"),
    *files("tests/api", "bad_input", "filters", "lists", "long_lists", "rows", "unavailable"),
    *files("tests/api", "access_log*", "security_event*"),
)
# All but what reads headers or bodies and no other rows, decides thousands of requests, or builds programs in Go; in
# two, because as one it would run alone for a quarter of an hour.
ALL_WITH_DATABASE = (
    (
        "tests/integration",
        *ignored(files("tests/integration", "first_users", "provider_in_go", "peers_bench", "plans_come_true")),
    ),
    (*CALLS, *ignored(files("tests/gate", "access_rules", "bytes", "planes*", "shown_bodies", "token_attacks"))),
)


def yielding(stage: Stage) -> Stage:
    """Return a stage that computes only while nothing else does."""
    return stage._replace(command=("nice", "-n", "19", *stage.command))


class Tests:
    """Makes stages of tests with these marks; ``chosen`` are further arguments for pytest."""

    def __init__(self, marks: str, chosen: Sequence[str], *, full: bool = False) -> None:
        self._marks, self._chosen = marks, chosen
        self._runner = ("env", "TESTS_FORM=full", PYTHON) if full else (PYTHON,)

    def stage(self, words: str, processes: int, *arguments: str, postgresql: bool = False) -> Stage:
        """Return a stage that runs these tests in so many processes; 0 for the one that collects them."""
        at_once = ("-n", str(processes)) if processes else ()
        # The plugin of schemathesis takes a second of each process, and one folder needs it.
        unneeded = () if CONTRACT in arguments else ("-p", "no:schemathesis")
        server = ("-m", "tests.postgres", "--", PYTHON) if postgresql else ()
        command = (*self._runner, *server, "-m", "pytest", "-q", "-m", self._marks, *unneeded, *at_once)
        return Stage(words, (*command, *arguments, *self._chosen))


def quick(chosen: Sequence[str]) -> Sequence[Step]:
    """Return the stages to run before every commit."""
    smoke = Tests("smoke", chosen).stage("Smoke of both planes", 0, "tests/servers", "tests/gate")
    unit = Tests("not full", chosen).stage("Unit tests, without a database", COMPUTING, *UNIT)
    return [Step([[*STATIC, smoke], [unit]])]


def covering(short: Tests, *, judged: bool) -> Lane:
    """Return the stages in which branches are counted, and the one that judges, if it is to be judged.

    Long forms would take twice as long there, and reach no further branch.
    """
    first = MEASURED if judged else ()
    more = (*MEASURED, "--cov-append") if judged else ()
    return [
        short.stage("Unit tests", 0, *UNIT, *ignored(UNMEASURED), *first),
        short.stage("Tests with Django that count for the coverage", 0, *COVERING, *more),
        *([COVERED] if judged else []),
    ]


def everything(chosen: Sequence[str], *, full: bool) -> Sequence[Step]:
    """Return all stages; ``full`` with the long forms of their tests."""
    short = Tests("not full", chosen)
    tests = Tests("full or not full", chosen, full=True) if full else short
    with_processes = WITH_PROCESSES if full else (*WITH_PROCESSES, *ignored((SIGN_IN_RACES,)))  # they run on PostgreSQL
    again = ALL_WITH_DATABASE if full else (DATABASE_DECIDES,)
    # What computes runs in one process: each of two would collect all tests, and report them to a third.
    services = tests.stage("Services, commands and visitor pages, on SQLite", 0, *SERVICES)
    units = tests.stage("Unit tests without coverage", 0, *(UNIT if full else (*UNIT[:-1], *UNMEASURED)))
    # A row of the soak must be readable in a second, so that only what yields may run beside it.
    beside_soak = services, tests.stage(f"{DOCUMENT_IS_TRUE}, on PostgreSQL", 0, CONTRACT, postgresql=True), units
    computing = [*covering(short, judged=not chosen), *([] if full else [units])]
    waiting = [
        *STATIC,
        tests.stage("Servers, faults, packages, proxies, browser", WAITING, *BY_MODULE, *with_processes),
    ]
    then = [  # the longest first, so that the lanes end at about the same time
        *(short.stage("Tests that depend on the database, on PostgreSQL", 0, *part, postgresql=True) for part in again),
        tests.stage("API and gate, on SQLite", 0, *CALLS),
        *([] if full else [services]),
        tests.stage("Pages of operators and documents, on SQLite", 0, *PAGES),
        short.stage(DOCUMENT_IS_TRUE, 0, CONTRACT),
        tests.stage("Concurrent sign-ins, on PostgreSQL", 0, SIGN_IN_RACES, postgresql=True),
        tests.stage("A full disk", 0, DISK),
    ]
    # The third lane begins with the first of them: with two, a core is idle for a quarter of the time.
    first = Step([computing, waiting, ()], then)
    last = Step([[KILLS, SOAK], *([yielding(stage)] for stage in beside_soak)])
    return [first, last] if full else [first]


@contextmanager
def temporary_folder() -> Iterator[str]:
    """Make the folder for the temporary files of a run: in memory where there is room and programs may run."""
    parent = None
    if "TMPDIR" not in os.environ and MEMORY.is_dir():
        there = os.statvfs(MEMORY)
        free = min(there.f_bavail * there.f_frsize, psutil.virtual_memory().available // 2)
        parent = MEMORY if free >= ROOM and not there.f_flag & os.ST_NOEXEC else None
    with tempfile.TemporaryDirectory(prefix="gw-", dir=parent, ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o711)  # PostgreSQL, which is never root, has a folder below it
        yield folder


def environment(folder: str) -> dict[str, str]:
    """Return the environment of the stages."""
    given = {
        **os.environ,
        "PATH": f"{Path(PYTHON).parent}{os.pathsep}{os.environ['PATH']}",
        "TMPDIR": folder,
        "DJANGO_SETTINGS_MODULE": "tests.settings",
    }
    if os.environ.get("CI") == "true":
        # A build must not fail for an order of the tests that comes up once in a while.
        given["PYTEST_ADDOPTS"] = f"--randomly-seed=4711 {os.environ.get('PYTEST_ADDOPTS', '')}"
        given["PYTHONHASHSEED"] = "0"
    return given


def main() -> int:
    """Run the form of the suite that the arguments ask for; return the exit code."""
    parser = argparse.ArgumentParser(prog="bin/test", description="Run everything that says whether Gatewall works.")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--quick", action="store_true", help="what belongs before every commit: three minutes at most")
    form.add_argument("--full", action="store_true", help="the long forms of tests too")
    parser.add_argument("pytest", nargs="*", help="arguments for pytest, after --")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that the stages are ended
    began = time.monotonic()
    with temporary_folder() as folder:
        suite = Suite(environment(folder), chosen=bool(asked.pytest))
        for step in quick(asked.pytest) if asked.quick else everything(asked.pytest, full=asked.full):
            if not suite.failed:
                suite.run(step)
    took = f"{time.monotonic() - began:.0f} s"
    # By name, and last: a build server may show no more than the end.
    print("\n".join((f"FAILED after {took}:", *suite.failed)) if suite.failed else f"All stages passed in {took}.")
    return bool(suite.failed)


if __name__ == "__main__":
    sys.exit(main())
