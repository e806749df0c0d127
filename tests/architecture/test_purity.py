"""Pure modules do not import Django, not even indirectly, in a fresh interpreter."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FORBIDDEN = (
    "django", "rest_framework", "rest_framework_simplejwt", "geoip2", "django_otp", "qrcode", "psycopg", "redis",
)  # fmt: skip
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
PURE = next(each["source_modules"] for each in CONTRACTS if each["name"].endswith("are plain Python"))
"""Packages and modules that must not import Django, by the contract in pyproject.toml."""


def modules_of(name):
    folder = ROOT / name.replace(".", "/")
    return [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in folder.rglob("*.py")
        if "__pycache__" not in path.parts
    ]


MODULES = sorted({module for name in PURE for module in modules_of(name)})
PROBE = """
import importlib, json, sys

loaded = {name: importlib.import_module(name) and sorted(sys.modules) for name in sys.argv[1:]}
print(json.dumps(loaded))
"""


def loaded_by(*modules, environment=None):
    """Return the modules in memory after importing each of these, in a fresh interpreter."""
    process = subprocess.run(
        [sys.executable, "-c", PROBE, *modules],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert process.returncode == 0, f"{modules} cannot be imported:\n{process.stderr}"
    return json.loads(process.stdout)


def impure(names):
    return [name for name in names if name.partition(".")[0] in FORBIDDEN]


def test_modules_are_imported_without_django():
    loaded = loaded_by(*MODULES)

    assert list(loaded) == MODULES
    assert {name: impure(loaded[name]) for name in MODULES if impure(loaded[name])} == {}


@pytest.mark.full  # an interpreter for each: in the test above, the others' imports are in memory
@pytest.mark.parametrize("module", MODULES)
def test_each_module_is_imported_without_django_in_a_fresh_interpreter(module):
    assert impure(loaded_by(module)[module]) == []


def test_the_data_plane_runs_without_django(tmp_path):
    environment = {"PATH": os.environ["PATH"], "GATEWALL_HOME": str(tmp_path)}
    keys = [sys.executable, "-m", "gatewall.credentials.keyfiles", tmp_path / "secrets"]
    subprocess.run(keys, cwd=ROOT, env=environment, capture_output=True, timeout=60, check=True)

    loaded = loaded_by("gatewall.data_plane", environment=environment)["gatewall.data_plane"]

    assert impure(loaded) == []
    assert "gatewall.gate.application" in loaded


def test_planes_start_their_server_without_importing_django():
    """Importing Django takes a second, and the workers do it themselves."""
    assert impure(loaded_by("gatewall.install.plane_start")) == []


def test_the_contract_names_folders_and_the_data_plane():
    assert [name for name in PURE if not (ROOT / name.replace(".", "/")).is_dir()] == ["gatewall.data_plane"]


def test_the_probe_detects_a_django_import():
    assert impure(loaded_by("django.utils.functional"))


def test_every_part_of_the_engine_is_probed():
    assert {"gatewall.engine", "gatewall.engine.evaluate", "gatewall.engine.waf.matcher"} <= set(MODULES)
    assert {"gatewall.credentials.check", "gatewall.credentials.sessions"} <= set(MODULES)
