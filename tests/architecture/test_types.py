"""mypy checks every module, and rejects changes of values that requests share (docs/adr/0052)."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.support.form import FULL

BASE = Path(__file__).resolve().parents[2]
CONFIG = tomllib.loads((BASE / "pyproject.toml").read_text())["tool"]["mypy"]
SHARED = (
    ("gatewall.engine.hosts", "Authority", "host"),
    ("gatewall.credentials.sessions", "SessionClaims", "user_id"),
    ("gatewall.engine.model", "Decision", "verdict"),
    ("audit.spool.records", "AccessRecord", "path"),
)
"""Values that are frozen only for the type checker, not at run time: module, class, a field."""
MUTATION = """

from {module} import {name} as _Shared


def _planted(shared: _Shared) -> None:
    shared.{field} = shared.{field}
"""
REASONED = re.compile(r"# type: ignore\[[a-z, -]+\] +# ?\S")
READ_ONLY = re.compile(r'^(\S+?):\d+: error: Property "(\w+)" defined in "(\w+)" is read-only', re.MULTILINE)


def is_excluded(path):
    return any(re.search(pattern, f"/{path.as_posix()}") for pattern in CONFIG["exclude"])


def checked_modules():
    """Return the files that mypy reads, relative to the repository."""
    found = [path.relative_to(BASE) for name in CONFIG["files"] for path in (BASE / name).rglob("*.py")]
    return sorted(path for path in found if not is_excluded(path))


def test_mypy_checks_every_folder_with_code():
    folders = {each for each in BASE.iterdir() if each.is_dir() and not each.name.startswith(".")}
    with_code = {each.name for each in folders if next(each.rglob("*.py"), None)}

    assert with_code | {each.name for each in BASE.glob("*.py")} == set(CONFIG["files"])


def test_only_migrations_and_test_modules_are_excluded():
    every = [path.relative_to(BASE) for name in CONFIG["files"] for path in (BASE / name).rglob("*.py")]

    excluded = [path for path in every if is_excluded(path)]
    assert all("migrations" in path.parts or path.name.startswith("test_") for path in excluded)
    assert all(path.parts[0] == "tests" for path in excluded if "migrations" not in path.parts)


def test_only_test_support_is_checked_less_strictly():
    ours = [each for each in CONFIG["overrides"] if set(each) != {"module", "ignore_missing_imports"}]

    assert CONFIG["strict"] is True
    assert [name for each in ours for name in each["module"] if not name.startswith("tests.")] == []
    assert not any({"ignore_errors", "follow_imports", "check_untyped_defs"} & set(each) for each in ours)


def test_every_ignored_error_has_a_code_and_a_reason():
    lines = [(path, line) for path in checked_modules() for line in (BASE / path).read_text().splitlines()]

    ignored = [(path, line.strip()) for path, line in lines if re.search(r"#\s*type:\s*ignore", line)]
    assert [each for each in ignored if not REASONED.search(each[1])] == []


def one_of_each_part():
    """Return a module of each app and of each folder of ``gatewall`` and ``tests``, the last by name."""
    modules = [path for path in checked_modules() if path.name != "__init__.py"]
    return {path.parts[: 2 if path.parts[0] in {"gatewall", "tests"} else 1]: path for path in modules}.values()


PURE = {("gatewall", "engine"), ("gatewall", "credentials")}


def test_a_mutation_of_a_shared_value_fails_the_build(tmp_path):
    """One run of mypy checks modules with an appended mutation; by default two modules without Django."""
    planted, arguments = {}, []
    for number, path in enumerate(path for path in one_of_each_part() if FULL or path.parts[:2] in PURE):
        module, name, field = SHARED[number % len(SHARED)]
        shadow = tmp_path / f"{number}.py"
        shadow.write_text((BASE / path).read_text() + MUTATION.format(module=module, name=name, field=field))
        planted[path.as_posix()] = (field, name)
        arguments += ["--shadow-file", str(path), str(shadow)]
    cache = tmp_path / "cache"
    if (BASE / ".mypy_cache").is_dir():  # the cache of an earlier run must not be changed
        shutil.copytree(BASE / ".mypy_cache", cache)

    checked = [] if FULL else [*planted]
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", str(cache), *arguments, *checked],
        cwd=BASE,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert run.returncode == 1, run.stdout + run.stderr
    assert {path: (field, name) for path, field, name in READ_ONLY.findall(run.stdout)} == planted
