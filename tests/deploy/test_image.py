"""The Dockerfile: its files exist, and it agrees with the Compose files, the units and the chart."""

import os
import re
import subprocess

import pytest
from django.conf import settings

from gatewall.kernel import env
from tests.deploy import dockerfile
from tests.deploy.dockerfile import BASE, DOCKERFILE, copied_from_context, instructions, is_left_out
from tests.deploy.jail import USER
from tests.docs.test_tables import VARIABLES

STAGES = range(instructions()[-1].stage + 1)
APPS = {path.parent.name for path in BASE.glob("*/__init__.py")} - {"bench"}


def test_hadolint_finds_nothing():
    run = subprocess.run(["hadolint", "--no-color", DOCKERFILE], capture_output=True, text=True, check=False)

    assert (run.returncode, run.stdout) == (0, ""), run.stderr


@pytest.mark.parametrize("stage", STAGES)
def test_copied_files_are_in_git_and_in_the_build_context(stage):
    for sources, _ in copied_from_context(stage):
        for source in sources:
            files = subprocess.run(["git", "ls-files", source], cwd=BASE, capture_output=True, text=True, check=True)
            assert files.stdout, source
            assert [file for file in files.stdout.splitlines() if is_left_out(file)] == []


def test_every_package_of_the_program_is_copied():
    copied = {source for sources, _ in copied_from_context(STAGES[-1]) for source in sources}

    assert copied >= APPS
    assert {"gatewall", "accounts", "policies", "audit", "licensing", "webhooks"} <= APPS


@pytest.mark.parametrize(
    "path",
    [
        "var/secrets/secret-key",
        ".git/config",
        ".env",
        "deploy/compose/secrets/jwt-keys",
        "tests/conftest.py",
        "gatewall/__pycache__/env.cpython-311.pyc",
        "bench/all",
    ],
)
def test_nothing_else_gets_into_the_build_context(path):
    assert is_left_out(path)


def test_the_image_has_no_root_user_and_one_folder_to_write_to():
    home = dockerfile.settings()["GATEWALL_HOME"]
    run = next(each.text for each in instructions() if each.stage == STAGES[-1] and each.name == "RUN")

    assert dockerfile.last("USER") == f"{USER}:{USER}"
    assert f"useradd --uid {USER} --gid {USER}" in run
    assert f"--owner={USER} --group={USER} --mode=0700 {home}" in run
    assert dockerfile.last("VOLUME") == home


def test_the_image_lacks_unused_files_of_packages(tmp_path):
    (line,) = [each.text for each in instructions() if each.name == "RUN" and each.text.startswith("find .venv")]
    locale = ".venv/lib/django/conf/locale"
    read = [
        *(f"{locale}/__init__.py", f"{locale}/de/formats.py", f"{locale}/en/LC_MESSAGES/django.mo"),
        *(
            f"{locale}/zh_Hans/LC_MESSAGES/django.mo",
            ".venv/lib/drf_spectacular_sidecar/swagger-ui/ui.css",
        ),
    ]
    unread = [
        *(f"{locale}/de/LC_MESSAGES/django.mo", f"{locale}/en/LC_MESSAGES/django.po"),
        *(".venv/lib/drf_spectacular_sidecar/redoc/redoc.js", ".venv/lib/django/jquery.min.map"),
    ]
    for name in (*read, *unread):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    subprocess.run(["sh", "-c", line], cwd=tmp_path, check=True)

    assert {file.relative_to(tmp_path).as_posix() for file in tmp_path.rglob("*") if file.is_file()} == set(read)
    assert {code.partition("-")[0] for code, _ in settings.LANGUAGES} == {"en", "zh"}


def test_the_image_shows_the_ports_that_the_planes_listen_on():
    config = env.read({**dockerfile.settings(), **keys()}, BASE)

    assert set(dockerfile.last("EXPOSE").split()) == {str(config.port), str(config.auth_port)}
    assert (config.bind, config.demo) == ("0.0.0.0", False)


def keys():
    ring = "k1:8u2VtQmJp0xZc4LrWn7dYb3KfHs6TgEaXi9vOqPwDjM"
    return {
        "GATEWALL_SECRET_KEY": "Zt4qLw8NxVb2RmYp6HsKd0JfGc7TaEiU9oQzXv1B",
        "GATEWALL_JWT_KEYS": ring,
        "GATEWALL_DATA_KEYS": ring.replace("8u2V", "q7Ws"),
    }


def test_every_variable_of_the_image_is_one_of_ours_or_of_python():
    assert {name for name in dockerfile.settings() if not name.startswith("PYTHON")} <= VARIABLES


def test_the_entrypoint_and_its_scripts_are_in_the_image():
    place = next(each.text for each in instructions() if each.stage == STAGES[-1] and each.name == "WORKDIR")
    entrypoint = re.findall(r'"([^"]+)"', dockerfile.last("ENTRYPOINT"))[0]
    script = BASE / entrypoint.removeprefix(f"{place}/")

    assert script.is_file()
    assert os.access(script, os.X_OK)
    assert entrypoint in dockerfile.last("HEALTHCHECK")
    for named in re.findall(r"[\w./-]+\.py\b", script.read_text()):
        assert (BASE / named).is_file(), named
