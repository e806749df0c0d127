"""The systemd units: systemd itself verifies them, and their commands start."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from gatewall.install.ports import free_port
from tests.deploy import dockerfile
from tests.deploy.dockerfile import BASE
from tests.docs.test_tables import VARIABLES
from tests.support.not_run import not_run
from tests.support.processes import environment, no_agent_leads, prepare, running, stop, wait_for, wait_until
from tests.support.servers import Verdict, about, ask

FOLDER = BASE / "deploy" / "systemd"
PLACE = "/opt/gatewall"
PYTHON = f"{PLACE}/.venv/bin/python"
SERVICES = sorted(path.name for path in FOLDER.glob("*.service"))
LONG_RUNNING = [name for name in SERVICES if name != "gatewall-setup.service"]
EXPOSURE = "25"
"""Exposure of 100 by `systemd-analyze security`; half of it is that the planes use the network."""


def lines(name):
    """Return the settings of a unit in order; a setting may be repeated."""
    found, section = [], ""
    for line in (FOLDER / name).read_text().splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            setting, equals, value = line.partition("=")
            assert equals, line
            found.append((section, setting, value))
    return found


def values(name, setting):
    return [value for _, each, value in lines(name) if each == setting]


def sample():
    text = (FOLDER / "environment").read_text()
    return dict(line.split("=", 1) for line in text.splitlines() if line and not line.startswith("#"))


@pytest.fixture
def installed(tmp_path):
    """Return a folder with the units, changed for the program in this checkout."""
    for path in [*FOLDER.glob("*.service"), *FOLDER.glob("*.target")]:
        text = path.read_text().replace(PYTHON, sys.executable).replace(PLACE, str(BASE))
        (tmp_path / path.name).write_text(text)
    return tmp_path


def analyze(*arguments):
    program = shutil.which("systemd-analyze")
    if program is None:
        not_run("no systemd-analyze (Debian: systemd)")
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False)


def test_systemd_verifies_the_units_without_a_warning(installed):
    run = analyze("verify", "--man=no", *map(str, sorted(installed.iterdir())))

    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


@pytest.mark.parametrize("name", SERVICES)
def test_systemd_rates_the_exposure_of_a_unit_below_the_limit(installed, name):
    run = analyze("security", "--offline=true", f"--threshold={EXPOSURE}", str(installed / name))

    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("name", SERVICES)
def test_a_unit_is_no_root_and_writes_to_the_folders_of_its_state_alone(name):
    wanted = {"NoNewPrivileges": "yes", "ProtectSystem": "strict", "StateDirectory": "gatewall", "UMask": "0077"}

    assert {setting: values(name, setting) for setting in wanted} == {key: [value] for key, value in wanted.items()}
    assert values(name, "User") == values(name, "Group") == ["gatewall"]
    assert not values(name, "ReadWritePaths")
    assert values(name, "WorkingDirectory") == [PLACE]
    assert f"/var/lib/{wanted['StateDirectory']}" == sample()["GATEWALL_HOME"] == dockerfile.settings()["GATEWALL_HOME"]


def test_units_and_image_use_the_same_paths():
    assert PLACE in dockerfile.last("ENTRYPOINT")
    assert f"COPY --from=build {PYTHON.removesuffix('/bin/python')} .venv" in dockerfile.DOCKERFILE.read_text()


@pytest.mark.parametrize("name", LONG_RUNNING)
def test_a_unit_restarts_after_every_exit_without_a_limit(name):
    assert values(name, "Restart") == ["always"]
    assert values(name, "StartLimitIntervalSec") == ["0"]
    assert ("Unit", "StartLimitIntervalSec", "0") in lines(name)


def test_the_data_plane_requires_no_database_and_no_other_unit():
    for setting in ("Requires", "Requisite", "BindsTo"):
        assert not values("gatewall-data-plane.service", setting)
    assert values("gatewall-data-plane.service", "After") == ["network.target"]


@pytest.mark.parametrize("name", ["gatewall-control-plane.service", "gatewall-data-plane.service"])
def test_a_reloadable_unit_notifies_systemd_when_it_is_ready(name):
    assert values(name, "ExecReload") == ["/bin/kill -HUP $MAINPID"]
    assert values(name, "Type") == ["notify"]


def test_the_target_starts_every_unit_and_stops_it():
    (wanted,) = values("gatewall.target", "Wants")

    assert sorted(wanted.split()) == SERVICES
    assert all(values(name, "PartOf") == ["gatewall.target"] for name in SERVICES)


def test_every_variable_of_the_sample_is_one_that_the_program_reads():
    named = set(re.findall(r"^#?([A-Z_]+)=", (FOLDER / "environment").read_text(), re.MULTILINE))

    assert named <= VARIABLES


def commands(name, setting="ExecStart"):
    return [
        [sys.executable if word == PYTHON else word for word in shlex.split(text)] for text in values(name, setting)
    ]


def test_everything_that_a_unit_starts_does_start_and_ends_with_code_0(tmp_path):
    home, control, auth = tmp_path / "home", free_port(), free_port()
    home.mkdir()
    prepare(home)
    ours = {**sample(), "GATEWALL_HOME": str(home), "GATEWALL_PORT": str(control), "GATEWALL_AUTH_PORT": str(auth)}
    ours = environment(home, **ours)
    for command in [*commands("gatewall-setup.service"), *commands("gatewall-data-plane.service", "ExecStartPre")]:
        run = subprocess.run(command, cwd=BASE, env=ours, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr

    with ExitStack() as stack:
        processes = {}
        for name in LONG_RUNNING:
            (command,) = commands(name)
            processes[name] = stack.enter_context(running(command, log=tmp_path / name, env=ours))
        for name, port in (("gatewall-control-plane.service", control), ("gatewall-data-plane.service", auth)):
            wait_for(f"http://127.0.0.1:{port}/wall/health/ready", processes[name], tmp_path / name)
        wait_until(lambda: not no_agent_leads(home), what="an agent that leads")
        assert ask(auth, about(host="localhost")) == Verdict(401, "credential-missing")
        for name, process in processes.items():
            assert stop(process, seconds=float(values(name, "TimeoutStopSec")[0])) == 0, name


@pytest.mark.parametrize("arguments", [["check", "--deploy"], ["create_admin", "a b"]])
def test_a_command_runs_as_the_units_do(tmp_path, arguments):
    told = tmp_path / "systemd-run"
    told.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    told.chmod(0o755)

    run = subprocess.run(
        ["/bin/sh", FOLDER / "gatewall", *arguments],
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )

    words = run.stdout.splitlines()
    assert words[words.index(PYTHON) :] == [PYTHON, "manage.py", *arguments]
    given = [word.removeprefix("--property=") for word in words if word.startswith("--property=")]
    properties = dict(word.split("=", 1) for word in given)
    assert properties
    for setting, value in properties.items():
        assert [value] == values("gatewall-control-plane.service", setting), setting
    assert {"User", "Group", "UMask", "WorkingDirectory", "EnvironmentFile", "ProtectSystem"} <= set(properties)


def test_the_folder_of_units_has_the_expected_files():
    beside = {path.name for path in FOLDER.iterdir()} - set(SERVICES)

    assert beside == {"environment", "gatewall", "gatewall.sysusers", "gatewall.target"}
    assert re.search(r"^u gatewall ", (FOLDER / "gatewall.sysusers").read_text(), re.MULTILINE)
    assert Path(FOLDER / "gatewall.target").read_text().endswith("WantedBy=multi-user.target\n")
