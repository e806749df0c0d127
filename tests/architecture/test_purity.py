"""Pure modules stay pure: a fresh interpreter imports one and then has nothing of Django in memory."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FORBIDDEN = ("django", "rest_framework", "rest_framework_simplejwt", "geoip2", "django_otp", "qrcode")
PACKAGES = ("gatewall/engine", "gatewall/engine/waf", "gatewall/credentials")
MODULES = sorted(
    {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for package in PACKAGES
        for path in (ROOT / package).glob("*.py")
    }
    | {
        "gatewall.env",
        "gatewall.clientip",
        "gatewall.forwardauth.countries",
        "gatewall.forwardauth.decision_id",
        "gatewall.forwardauth.gate",
        "gatewall.forwardauth.gunicorn",
        "gatewall.forwardauth.headers",
        "gatewall.forwardauth.request_rate",
        "gatewall.forwardauth.responses",
        "gatewall.forwardauth.subrequest",
        "gatewall.snapshot.codec",
        "gatewall.snapshot.holder",
    }
)
PROBE = "import importlib, json, sys; importlib.import_module(sys.argv[1]); print(json.dumps(sorted(sys.modules)))"


def loaded_by(module):
    """The modules that are in memory after importing this one, in an interpreter of its own."""
    process = subprocess.run(
        [sys.executable, "-c", PROBE, module], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert process.returncode == 0, f"{module} cannot be imported:\n{process.stderr}"
    return json.loads(process.stdout)


def impure(names):
    return [name for name in names if name.partition(".")[0] in FORBIDDEN]


@pytest.mark.parametrize("module", MODULES)
def test_module_is_imported_without_django(module):
    assert impure(loaded_by(module)) == []


def test_probe_notices_django():
    assert impure(loaded_by("django.utils.functional"))


def test_every_part_of_the_engine_is_probed():
    assert {"gatewall.engine", "gatewall.engine.evaluate", "gatewall.engine.waf.matcher"} <= set(MODULES)
    assert {"gatewall.credentials.check", "gatewall.credentials.sessions"} <= set(MODULES)
