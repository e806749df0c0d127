"""Pure modules stay pure: a fresh interpreter imports one and then has nothing of Django in memory."""

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
PACKAGES = (
    "gatewall/engine",
    "gatewall/engine/waf",
    "gatewall/engine/waf/builtin",
    "gatewall/credentials",
    "gatewall/forwardauth",
    "gatewall/serving",
)
MODULES = sorted(
    {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for package in PACKAGES
        for path in (ROOT / package).glob("*.py")
    }
    | {
        "gatewall.kernel.env",
        "gatewall.kernel.downloads",
        "gatewall.kernel.posting",
        "webhooks.signing",
        "gatewall.kernel.geo_file",
        "gatewall.kernel.geo_ranges",
        "gatewall.kernel.log_lines",
        "gatewall.kernel.env_database",
        "gatewall.kernel.env_reader",
        "gatewall.database.postgresql.pulse",
        "gatewall.database.sqlite.write_queue",
        "gatewall.kernel.clientip",
        "gatewall.kernel.trusted_callers",
        "gatewall.kernel.changes",
        "gatewall.kernel.detectors",
        "audit.events.kinds",
        "gatewall.kernel.refusals",
        "gatewall.kernel.request_rate",
        "gatewall.doctor.probing.answering",
        "gatewall.doctor.probing.arriving",
        "gatewall.doctor.probing.evidence",
        "gatewall.doctor.probing.findings",
        "gatewall.doctor.probing.judging",
        "gatewall.doctor.probing.probes",
        "gatewall.doctor.probing.sending",
        "gatewall.doctor.probing.snippets",
        "gatewall.doctor.probing.spelling",
        "gatewall.doctor.probing.target",
        "gatewall.doctor.probing.this_request",
        "gatewall.snapshot.assembly",
        "gatewall.snapshot.codec",
        "gatewall.snapshot.files",
        "gatewall.snapshot.holder",
        "gatewall.snapshot.manifest",
        "gatewall.snapshot.pattern_cache",
        "gatewall.snapshot.pattern_process",
        "gatewall.snapshot.places",
        "gatewall.snapshot.published",
        "gatewall.snapshot.notification",
        "gatewall.snapshot.worker_report",
        "audit.spool.quarantine",
        "audit.spool.batches",
        "audit.counting.counts",
        "audit.spool.frames",
        "audit.spool.losses",
        "audit.spool.records",
        "audit.spool.masking",
        "audit.spool.rows",
        "audit.spool.segments",
        "audit.spool.new_segments",
        "audit.spool.unnamed",
        "audit.spool.writer",
        "audit.counting.merging",
        "audit.counting.summaries",
        "policies.lists.parsing.block_lists",
        "policies.lists.parsing.diff",
        "gatewall.replay.comparison",
        "gatewall.replay.recorded",
        "gatewall.replay.tally",
        "gatewall.console.site.charts",
    }
)
PROBE = "import importlib, json, sys; importlib.import_module(sys.argv[1]); print(json.dumps(sorted(sys.modules)))"


def loaded_by(module, environment=None):
    """The modules that are in memory after importing this one, in an interpreter of its own."""
    process = subprocess.run(
        [sys.executable, "-c", PROBE, module],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert process.returncode == 0, f"{module} cannot be imported:\n{process.stderr}"
    return json.loads(process.stdout)


def impure(names):
    return [name for name in names if name.partition(".")[0] in FORBIDDEN]


@pytest.mark.parametrize("module", MODULES)
def test_module_is_imported_without_django(module):
    assert impure(loaded_by(module)) == []


def test_the_data_plane_runs_without_django(tmp_path):
    environment = {"PATH": os.environ["PATH"], "GATEWALL_HOME": str(tmp_path)}
    keys = [sys.executable, "-m", "gatewall.credentials.keyfiles", tmp_path / "secrets"]
    subprocess.run(keys, cwd=ROOT, env=environment, capture_output=True, timeout=60, check=True)

    loaded = loaded_by("gatewall.data_plane", environment)

    assert impure(loaded) == []
    assert "gatewall.gate.application" in loaded


def test_every_module_of_the_contract_is_probed():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    named = {name for each in contracts if each["type"] == "forbidden" for name in each["source_modules"]}

    assert named - {"gatewall.data_plane"} <= set(MODULES)


def test_probe_notices_django():
    assert impure(loaded_by("django.utils.functional"))


def test_every_part_of_the_engine_is_probed():
    assert {"gatewall.engine", "gatewall.engine.evaluate", "gatewall.engine.waf.matcher"} <= set(MODULES)
    assert {"gatewall.credentials.check", "gatewall.credentials.sessions"} <= set(MODULES)
