"""Checked rules of the code: import contracts, and lengths of modules and functions."""

import ast
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

BASE = Path(__file__).resolve().parents[2]
PACKAGES = ("gatewall", "accounts", "policies", "licensing", "audit", "webhooks")
MAX_MODULE, MAX_FUNCTION = 300, 40

LONG_MODULES: dict[str, str] = {}
"""Modules that may be longer than 300 lines, and why."""
LONG_FUNCTIONS: dict[str, str] = {}
"""Functions that may be longer than 40 lines (``path::name``), and why."""


def sources(*folders):
    """Return every Python file in these folders except migrations, which Django generates."""
    found = [path for folder in folders for path in (BASE / folder).rglob("*.py")]
    return sorted(path for path in found if "migrations" not in path.parts)


def named(path):
    return str(path.relative_to(BASE))


def lint(folder):
    """Run import-linter in a folder; return its exit code and output."""
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    result = subprocess.run(
        [sys.executable, "-c", code, "--no-cache"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return result.returncode, result.stdout + result.stderr


@pytest.fixture
def copy(tmp_path):
    """Return a copy of the code in which a test may break a rule."""
    for package in PACKAGES:
        shutil.copytree(BASE / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(BASE / "pyproject.toml", tmp_path)
    return tmp_path


def test_every_contract_about_imports_is_kept():
    code, output = lint(BASE)

    assert code == 0, output
    assert "0 broken" in output


VIOLATIONS = {
    "the engine imports Django": ("gatewall/engine/lists.py", "import django"),
    "the engine imports what is above it": ("gatewall/engine/lists.py", "import gatewall.kernel.clientip"),
    "the gate imports the rows": ("gatewall/gate/gate.py", "import policies.models"),
    "the gate imports the rows within a function": (
        "gatewall/gate/gate.py",
        "def hidden():\n    import policies.models",
    ),
    "policies import accounts": ("policies/services.py", "import accounts.models"),
    "a service imports a view": ("policies/services.py", "import policies.views"),
    "geoip2 is used a second time": ("policies/services.py", "import geoip2.database"),
    "simplejwt is used a third time": ("accounts/services.py", "import rest_framework_simplejwt.tokens"),
    "drf-spectacular is used a third time": ("policies/views.py", "import drf_spectacular.utils"),
    "RE2 is used a second time": ("policies/validators.py", "import re2"),
}


def test_each_planted_violation_is_caught(copy):
    """All violations are planted in one copy; each must be reported with its own line."""
    planted = {what: plant(copy / module, line) for what, (module, line) in VIOLATIONS.items()}

    code, output = lint(copy)

    assert code == 1, output
    for what, (module, line) in VIOLATIONS.items():
        source, name = module.removesuffix(".py").replace("/", "."), line.rpartition("import ")[2]
        imported = name if name.startswith(PACKAGES) else name.partition(".")[0]
        places = re.findall(rf"{re.escape(f'{source} -> {imported}')} \((.*?)\)", output)
        assert any(f"l.{planted[what]}" in each.split(", ") for each in places), (what, output)


def plant(path, line):
    """Append lines to a module; return the number of the last one."""
    text = f"{path.read_text()}\n{line}\n"
    path.write_text(text)
    return text.count("\n")


def test_no_module_is_too_long():
    long = {
        named(path): lines
        for path in sources(*PACKAGES, "deploy", "tests")
        if (lines := len(path.read_text().splitlines())) > MAX_MODULE
    }

    assert {name: lines for name, lines in long.items() if name not in LONG_MODULES} == {}


def test_no_function_is_too_long():
    long = {name: lines for name, lines in functions(*PACKAGES, "deploy") if lines > MAX_FUNCTION}

    assert {name: lines for name, lines in long.items() if name not in LONG_FUNCTIONS} == {}


def functions(*folders):
    """Yield the name of every function, and its length without the docstring."""
    for path in sources(*folders):
        yield from ((f"{named(path)}::{name}", length) for name, length in parsed(path).functions)


class Parsed(NamedTuple):
    """The facts of a module that the rules check: function lengths, imported modules and used names."""

    functions: list[tuple[str, int]]
    imported: set[str]
    names: set[str]
    yaml: set[str]


@cache
def parsed(path):
    """Parse a module, once: parsing all of them takes almost a second."""
    read = Parsed([], set(), set(), set())
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                doc = node.body[0] if ast.get_docstring(node) else None
                length = node.end_lineno - node.lineno + 1 - (doc.end_lineno - doc.lineno + 1 if doc else 0)
                read.functions.append((node.name, length))
            case ast.Import():
                read.imported.update(alias.name for alias in node.names)
            case ast.ImportFrom():
                read.imported.add(node.module or "")
            case ast.Name():
                read.names.add(node.id)
            case ast.Attribute():
                read.names.add(node.attr)
                if isinstance(node.value, ast.Name) and node.value.id == "yaml":
                    read.yaml.add(node.attr)
    return read


def importing(*packages):
    """Return the modules of production code that import one of these packages."""
    return [
        named(path)
        for path in sources(*PACKAGES, "deploy")
        if any(name.split(".")[0] in packages for name in parsed(path).imported)
    ]


def test_every_exemption_from_the_length_limits_is_still_needed():
    lengths = dict(functions(*PACKAGES, "deploy"))

    assert all(lengths.get(name, 0) > MAX_FUNCTION for name in LONG_FUNCTIONS)
    assert all(len((BASE / name).read_text().splitlines()) > MAX_MODULE for name in LONG_MODULES)


def test_production_code_never_imports_tests():
    assert importing("tests") == []


def test_yaml_is_parsed_only_into_events():
    """So no document can name a Python object."""
    used = set().union(*(parsed(path).yaml for path in sources(*PACKAGES)))

    assert used == {"parse", "reader", "MarkedYAMLError", "SafeLoader"} | {
        each for each in used if each.endswith("Event")
    }


def test_nothing_is_pickled():
    assert importing("pickle", "marshal", "shelve") == []


def test_code_of_ours_is_imported_and_never_looked_up_by_name():
    allowed = {
        "gatewall/agent/housekeeping.py": "the session store that Django's settings name",
        "gatewall/database/online_index.py": "the model of a migration's state",
        "gatewall/install/demo.py": "the nginx wheel, which an installation may not have",
    }
    ways = {"import_string", "import_module", "get_model"}
    looking_up = {named(path) for path in sources(*PACKAGES, "deploy") if ways & parsed(path).names}

    assert looking_up == set(allowed)
