"""Runs the tests against mutants, each in a fork of a process that has collected the tests.

A mutant inside a function is put into the functions that exist already, and only the tests that reach
its lines run. A mutant that acts at import gets a fork without our modules, which imports them anew.
"""

import contextlib
import gc
import json
import os
import resource
import signal
import sys
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import coverage
import pytest

from tests.mutation.mutants import Mutant, code_of

CPU_SECONDS_A_TEST = 20
SECONDS_A_TEST = 300
SECONDS_AN_IMPORT = 900
MEMORY_BYTES = 6 << 30
SURVIVED, KILLED, BROKEN = 0, 1, 99
USUAL = ["-q", "-x", "-p", "no:randomly", "-p", "no:cacheprovider"]


class Trial:
    """A pytest plugin: runs the tests once to see what they reach, then tries every mutant."""

    def __init__(self, mutants: list[Mutant], jobs: int, tell: Callable[[Mutant, bool], None]) -> None:
        self._paths = sorted({mutant.path for mutant in mutants})
        self._mutants = [mutant for mutant in mutants if mutant.function]
        self._jobs = jobs
        self._tell = tell
        self._failed = False
        self.files: dict[str, list[str]] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self._failed = True
            sys.stderr.write(f"\n{report.nodeid}\n{report.longreprtext}\n")

    def pytest_runtestloop(self, session: Any) -> bool:
        reached = self._reached(session.items)
        if self._failed:
            pytest.exit("the tests fail without any mutant", returncode=3)
        if self._notices_nothing_wrong(session):
            pytest.exit("the tests fail in a fork, without any mutant", returncode=3)
        trials: dict[Mutant, Callable[[], bool]] = {}
        for mutant in self._mutants:
            counted = {n for line in range(mutant.lines[0], mutant.lines[1] + 1) for n in reached[mutant.path][line]}
            chosen = [session.items[n] for n in sorted(counted, key=lambda n: self._breadth[n])]
            trials[mutant] = partial(self._kills, session, mutant, chosen)
        in_forks(trials, self._jobs, self._tell)
        return True

    def _reached(self, items: list[Any]) -> dict[str, dict[int, set[int]]]:
        """Run every test; return which reach a line, by their place in the list."""
        paths = self._paths
        watch = coverage.Coverage(data_file=None, include=[str(Path(path).resolve()) for path in paths])
        watch.start()
        for number, item in enumerate(items):
            watch.switch_context(str(number))
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=items[(number + 1) % len(items)])
        watch.stop()
        reached: dict[str, dict[int, set[int]]] = {path: defaultdict(set) for path in paths}
        self._breadth: dict[int, int] = defaultdict(int)
        for path in paths:
            tests_by_file: dict[str, int] = defaultdict(int)
            for line, names in watch.get_data().contexts_by_lineno(str(Path(path).resolve())).items():
                for number in (int(name) for name in names if name):
                    reached[path][line].add(number)
                    self._breadth[number] += 1
                    tests_by_file[str(items[number].path.relative_to(Path.cwd()))] += 1
            self.files[path] = sorted(tests_by_file, key=lambda name: -tests_by_file[name])
        return reached

    def _notices_nothing_wrong(self, session: Any) -> bool:
        """Return whether the tests fail in a fork without a change: the control."""
        reaching = [session.items[number] for number in sorted(self._breadth)]
        _, status = os.waitpid(_fork(lambda: self._fails(session, reaching)), 0)
        return status != SURVIVED

    def _kills(self, session: Any, mutant: Mutant, chosen: list[Any]) -> bool:
        try:
            fits = put_in(mutant)
        except BaseException:  # noqa: BLE001 - or it would count as a mutant that was noticed
            traceback.print_exc()
            os._exit(BROKEN)
        # Code with other free variables fits no function, and could not be called.
        return not fits or self._fails(session, chosen)

    def _fails(self, session: Any, chosen: list[Any]) -> bool:
        self._failed = False
        if chosen:
            session._setupstate.teardown_exact(chosen[0])
        for item, following in zip(chosen, [*chosen[1:], None], strict=True):
            signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS_A_TEST)
            signal.alarm(SECONDS_A_TEST)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self._failed:
                return True
        return False


def put_in(mutant: Mutant) -> bool:
    """Put the code of the mutant into the existing functions; return False if it does not fit them."""
    assert mutant.function is not None
    path = str(Path(mutant.path).resolve())
    name, line = mutant.function
    code = _find(code_of(mutant), name, line)
    gc.unfreeze()  # get_objects() leaves out what was frozen after collection
    functions = [
        each
        for each in gc.get_objects()
        if type(each) is FunctionType  # isinstance() would wake lazy objects
        and (each.__code__.co_filename, each.__code__.co_qualname, each.__code__.co_firstlineno) == (path, name, line)
    ]
    assert functions, mutant
    try:
        for function in functions:
            function.__code__ = code
    except ValueError:
        return False
    return True


def _find(code: CodeType, name: str, line: int) -> CodeType:
    if (code.co_qualname, code.co_firstlineno) == (name, line):
        return code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            with contextlib.suppress(LookupError):
                return _find(constant, name, line)
    raise LookupError(name)


def fail_alone(files: Iterable[str], options: list[str]) -> bool:
    """Return whether the tests of these files fail in a fork that imports unchanged modules: the control."""
    _, status = os.waitpid(_fork(lambda: pytest.main([*USUAL, *options, *files]) != pytest.ExitCode.OK), 0)
    return status != SURVIVED


def dies_at_import(mutant: Mutant, files: Iterable[str], options: list[str]) -> bool:
    """Return whether the tests of these files fail on modules that were imported with the mutant in one of them."""
    code, path = code_of(mutant), str(Path(mutant.path).resolve())
    get_code = SourceFileLoader.get_code

    def mutated(loader: SourceFileLoader, fullname: str) -> CodeType | None:
        return code if loader.path == path else get_code(loader, fullname)

    SourceFileLoader.get_code = mutated  # type: ignore[method-assign, assignment]  # reads the mutant instead of the file
    signal.alarm(SECONDS_AN_IMPORT)
    return pytest.main([*USUAL, *options, *files]) != pytest.ExitCode.OK


def in_forks(trials: dict[Mutant, Callable[[], bool]], jobs: int, tell: Callable[[Mutant, bool], None]) -> None:
    """Run each trial in its own process, some at a time. A process that ends abnormally has noticed the mutant."""
    running: dict[int, Mutant] = {}
    waiting = list(reversed(trials.items()))
    while waiting or running:
        while waiting and len(running) < jobs:
            mutant, trial = waiting.pop()
            running[_fork(trial)] = mutant
        pid, status = os.wait()
        if os.waitstatus_to_exitcode(status) == BROKEN:
            sys.exit(f"this could not be tried: {running[pid].name}")
        if pid in running:
            tell(running.pop(pid), status != SURVIVED)


def _fork(trial: Callable[[], bool]) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = KILLED
    try:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        for alarm in (signal.SIGALRM, signal.SIGPROF):
            signal.signal(alarm, signal.SIG_DFL)
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        code = KILLED if trial() else SURVIVED
    finally:
        os._exit(code)


def collect_and_try(
    mutants: list[Mutant], tests: Iterable[str], options: list[str], jobs: int, results: Path
) -> dict[str, list[str]]:
    """Try the mutants; append to the results. Return which test files reach each module, most first."""
    log, reached = results.with_suffix(".log"), results.with_suffix(".files")
    pid = os.fork()
    if not pid:  # a fork, so that this process stays free of our modules
        code = 1
        try:
            output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(output, 1)
            os.dup2(output, 2)
            trial = Trial(mutants, jobs, lambda mutant, killed: append(results, mutant, killed=killed))
            code = int(pytest.main([*USUAL, "-s", *options, *tests], plugins=[trial]))
            reached.write_text(json.dumps(trial.files))
        except Exception:  # noqa: BLE001 - whatever it was, nothing may be tried after it
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    if status:
        sys.exit(f"{log.read_text(errors='replace')[-4000:]}\nthe tests must pass before mutants are tried")
    files: dict[str, list[str]] = json.loads(reached.read_text())
    return files


def append(results: Path, mutant: Mutant, *, killed: bool) -> None:
    """Store the result of a mutant."""
    with results.open("a") as file:
        file.write(json.dumps([mutant.path, mutant.number, killed]) + "\n")
