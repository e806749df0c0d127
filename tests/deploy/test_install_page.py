"""What docs/install.md tells an operator to do, as far as it can be done without an engine."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from gatewall import env
from tests.deploy.dockerfile import BASE
from tests.deploy.test_compose import COMPOSE, OURS

PAGE = (BASE / "docs" / "install.md").read_text()


def commands(heading):
    section = PAGE.partition(f"\n## {heading}\n")[2]
    return re.search(r"```sh\n(.*?)```", section, re.DOTALL)[1].replace("\\\n", "").splitlines()


def run(lines, folder):
    """Run commands in a folder from which our packages are found, with the Python of this process first."""
    path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"  # noqa: PTH120 - a link must stay one
    environment = {"PATH": path, "PYTHONPATH": str(BASE)}
    subprocess.run(["sh", "-euc", "\n".join(lines)], cwd=folder, env=environment, check=True, capture_output=True)


def test_the_secrets_that_compose_wants_are_made_and_are_taken(tmp_path):
    (tmp_path / "deploy" / "compose").mkdir(parents=True)
    lines = commands("Compose")
    for_root = [line for line in lines if line.startswith("chown")]
    for_docker = [line for line in lines if "docker" in line]
    assert len(for_root) == len(for_docker) == 1

    run([line for line in lines if line not in {*for_root, *for_docker}], tmp_path)

    folder = tmp_path / "deploy" / "compose"
    for secret in COMPOSE["secrets"].values():
        assert (folder / secret["file"]).stat().st_mode & 0o077 == 0
    for name in ("migrate", "agent", "data-plane", "control-plane"):
        given = {key: value for key, value in OURS[name]["environment"].items() if not value.startswith("${")}
        config = env.read({key: value.replace("/run/", f"{folder}/") for key, value in given.items()}, tmp_path)
        assert (config.database["ENGINE"] == "django.db.backends.postgresql") is (name != "data-plane")


def test_the_keys_that_the_chart_wants_are_made(tmp_path):
    lines = commands("Helm")
    made = re.findall(r"--from-file=(new/\S+)", "\n".join(lines))

    run(lines[:1], tmp_path)

    assert len(made) == 3
    for name in made:
        assert (tmp_path / name).read_text().strip()


def test_systemd_makes_the_user(tmp_path):
    program = shutil.which("systemd-sysusers")
    if program is None:
        words = "NOT RUN: no systemd-sysusers (Debian: systemd)"
        pytest.fail(words) if os.environ.get("CI") == "true" else pytest.skip(words)
    (tmp_path / "etc").mkdir()

    subprocess.run(
        [program, f"--root={tmp_path}", BASE / "deploy/systemd/gatewall.sysusers"], check=True, capture_output=True
    )

    assert re.search(
        r"^gatewall:x:\d+:\d+:Gatewall:/var/lib/gatewall:", (tmp_path / "etc/passwd").read_text(), re.MULTILINE
    )


def test_every_file_that_the_page_names_is_there():
    for name in re.findall(r"\bdeploy/[\w./-]+\w", PAGE):
        if not name.startswith("deploy/compose/secrets"):
            assert (BASE / name).exists(), name
