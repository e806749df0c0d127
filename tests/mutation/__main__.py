"""Mutation testing of the code that decides: ``python -m tests.mutation [--jobs N] [MODULE...]``.

Prints a table by module and the survivors. Ends with 1 if a survivor is not listed in
``equivalent.py`` or a listed one is not there any more. Takes a while; not part of bin/test.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from tests.mutation.equivalent import EQUIVALENT
from tests.mutation.mutants import Mutant, mutants_of
from tests.mutation.runner import append, collect_and_try, dies_at_import, fail_alone, in_forks

BASE = Path(__file__).resolve().parents[2]
FIRST_FILES = 4


class Suite(NamedTuple):
    """Modules, and the tests that must notice a change in them."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]
    values: tuple[str, ...]
    """The tests that fix values: they run first on mutants that act at import."""
    options: list[str]
    known: tuple[str, ...]
    """Third-party modules, imported once for all forks; none that pytest must import first, such as its plugins."""


SUITES = (
    Suite(
        ("gatewall/engine", "gatewall/credentials", "gatewall/snapshot/codec.py", "gatewall/snapshot/manifest.py"),
        ("tests/unit",),
        ("tests/unit/test_fixed_values.py",),
        # Left out: tests that depend on the process that collected them, and slow tests of other modules.
        [
            *("-p", "no:django", "-m", "not full"),
            *(f"--ignore-glob=tests/unit/test_{name}*" for name in ("worker_report", "spool", "notification")),
        ],
        ("jwt", "re2", "idna", "cryptography.hazmat.primitives.ciphers.aead"),
    ),
    Suite(
        ("accounts/sign_in/throttling.py",),
        ("tests/integration/test_throttling_counts.py", "tests/integration/test_throttling_delays.py"),
        (),
        ["--ds=tests.mutation.settings"],
        ("django", "rest_framework"),
    ),
)
DATA = tuple(
    f"gatewall/engine/waf/builtin/{name}.py" for name in ("injection", "others", "rce", "sqli", "traversal", "xss")
)
"""Patterns: data, which separate tests check with attacks and look-alikes."""


def main() -> int:
    """Try all mutants, or those of the named modules; print the results."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--results", type=Path, help="a file to write to; with one of the same code, go on from there")
    parser.add_argument("modules", nargs="*", help="paths of modules; all by default")
    arguments = parser.parse_args()
    os.chdir(BASE)
    os.nice(10)
    mutants: list[Mutant] = []
    with tempfile.TemporaryDirectory(prefix="gatewall-mutation-") as folder:
        results = (arguments.results or Path(folder) / "results").absolute()
        known = read(results)
        for suite in SUITES:
            chosen = [path for path in modules_of(suite) if not arguments.modules or path in arguments.modules]
            found = [mutant for path in chosen for mutant in mutants_of(path)]
            mutants += found
            left = [mutant for mutant in found if not is_settled(mutant, known)]
            if left:
                try_suite(suite, left, arguments.jobs, results)
        killed = read(results)
    return report(mutants, killed)


def read(results: Path) -> dict[tuple[str, int], bool]:
    """Return which mutants were noticed, by module and number."""
    lines = results.read_text().splitlines() if results.exists() else []
    return {(path, number): dead for path, number, dead in map(json.loads, lines)}


def is_settled(mutant: Mutant, known: dict[tuple[str, int], bool]) -> bool:
    """Return whether an earlier run settled the mutant: noticed, or survived as listed."""
    dead = known.get((mutant.path, mutant.number))
    return dead is not None and (dead or mutant.name in EQUIVALENT)


def modules_of(suite: Suite) -> list[str]:
    """Return the modules of a suite that have anything to change."""
    named = [Path(name) for name in suite.modules]
    paths = [path for name in named for path in ([name] if name.is_file() else sorted(name.rglob("*.py")))]
    return [str(path) for path in paths if str(path) not in DATA and mutants_of(str(path))]


def try_suite(suite: Suite, mutants: list[Mutant], jobs: int, results: Path) -> None:
    """Try the mutants of a suite: those within functions first, which are quick."""
    reaching = collect_and_try(mutants, suite.tests, suite.options, jobs, results)
    for name in suite.known:
        import_module(name)
    left = {mutant for mutant in mutants if not mutant.function}
    files = {mutant: [*suite.values, *reaching.get(mutant.path, ())[:FIRST_FILES]] for mutant in left}

    if left and fail_alone(suite.tests, suite.options):
        sys.exit("the tests must pass in a fork of their own")

    def a_round(tests: Mapping[Mutant, Sequence[str]]) -> None:
        trials: dict[Mutant, Callable[[], bool]] = {
            mutant: partial(dies_at_import, mutant, tests[mutant], suite.options)
            for mutant in sorted(left, key=lambda each: (each.path, each.number))
        }

        def tell(mutant: Mutant, dead: bool) -> None:
            append(results, mutant, killed=dead)
            if dead:
                left.discard(mutant)

        in_forks(trials, jobs, tell)

    a_round(files)
    a_round(dict.fromkeys(left, suite.tests))


def report(mutants: Sequence[Mutant], killed: dict[tuple[str, int], bool]) -> int:
    """Print the table and the survivors; return 1 if they are not the ones that are listed."""
    print("| Module | Mutants | Killed | Equivalent | Survived | Score |\n|---|---:|---:|---:|---:|---:|")
    for path in [*sorted({mutant.path for mutant in mutants}), ""]:
        of_it = [mutant for mutant in mutants if path in ("", mutant.path)]
        dead = sum(killed.get((mutant.path, mutant.number), False) for mutant in of_it)
        same = sum(
            mutant.name in EQUIVALENT and not killed.get((mutant.path, mutant.number), False) for mutant in of_it
        )
        left = len(of_it) - dead - same
        name = f"`{path}`" if path else "**all**"
        print(f"| {name} | {len(of_it)} | {dead} | {same} | {left} | {100 * dead / len(of_it):.1f} % |")
    survivors = [mutant for mutant in mutants if not killed.get((mutant.path, mutant.number), False)]
    unlisted = [mutant for mutant in survivors if mutant.name not in EQUIVALENT]
    for mutant in unlisted:
        print(f"survived: line {mutant.line} of {mutant.name}")
    paths = {mutant.path for mutant in mutants}
    listed = {name for name in EQUIVALENT if name.partition(" ")[0] in paths}
    gone = listed - {mutant.name for mutant in survivors}
    for name in sorted(gone):
        print(f"listed as equivalent, but killed or not there: {name}")
    return 1 if unlisted or gone else 0


if __name__ == "__main__":
    sys.exit(main())
