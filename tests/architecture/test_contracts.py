"""The rules of the code that a machine can hold: who imports whom, and how long anything may be."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BASE = Path(__file__).resolve().parents[2]
PACKAGES = ("gatewall", "accounts", "policies", "licensing", "audit", "webhooks")
MAX_MODULE, MAX_FUNCTION = 300, 40

LONG_MODULES: dict[str, str] = {}
"""Modules that may be longer than 300 lines, and why."""
LONG_FUNCTIONS: dict[str, str] = {}
"""Functions that may be longer than 40 lines (``path::name``), and why."""


def sources(*folders):
    """Return every Python file of ours in these folders, migrations aside: Django writes those."""
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
    """All are planted in one copy: each must be reported with its own line."""
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
    """Yield the name and length of every function, its docstring not counted."""
    for path in sources(*folders):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                doc = node.body[0] if ast.get_docstring(node) else None
                length = node.end_lineno - node.lineno + 1 - (doc.end_lineno - doc.lineno + 1 if doc else 0)
                yield f"{named(path)}::{node.name}", length


def test_what_may_be_long_is_still_there_and_still_long():
    lengths = dict(functions(*PACKAGES, "deploy"))

    assert all(lengths.get(name, 0) > MAX_FUNCTION for name in LONG_FUNCTIONS)
    assert all(len((BASE / name).read_text().splitlines()) > MAX_MODULE for name in LONG_MODULES)


def test_production_code_never_imports_tests():
    importing = [
        named(path)
        for path in sources(*PACKAGES, "deploy")
        for node in ast.walk(ast.parse(path.read_text()))
        if (isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "tests")
        or (isinstance(node, ast.Import) and any(name.name.split(".")[0] == "tests" for name in node.names))
    ]

    assert importing == []


def test_yaml_is_parsed_into_events_alone():
    """Nothing of a document can name a Python object."""
    used = {
        node.attr
        for path in sources(*PACKAGES)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "yaml"
    }

    assert used == {"parse", "reader", "MarkedYAMLError", "SafeLoader"} | {
        each for each in used if each.endswith("Event")
    }


def test_nothing_is_pickled():
    words = ("pickle", "marshal", "shelve")
    importing = [
        named(path)
        for path in sources(*PACKAGES, "deploy")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""])
        if name.split(".")[0] in words
    ]

    assert importing == []


def test_code_of_ours_is_imported_and_never_looked_up_by_name():
    allowed = {
        "gatewall/agent/housekeeping.py": "the session store that Django's settings name",
        "gatewall/database/online_index.py": "the model of a migration's state",
        "gatewall/install/demo.py": "the nginx wheel, which an installation may not have",
    }
    looking_up = {
        named(path)
        for path in sources(*PACKAGES, "deploy")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Name | ast.Attribute)
        and getattr(node, "id", getattr(node, "attr", "")) in {"import_string", "import_module", "get_model"}
    }

    assert looking_up == set(allowed)
