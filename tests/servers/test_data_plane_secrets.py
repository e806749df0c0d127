"""The data plane with only the secrets that it needs, in a state folder without any others."""

import subprocess

import pytest

from gatewall.install.ports import free_port
from tests.support.processes import (
    BASE,
    agent,
    control_plane,
    data_plane,
    environment,
    manager,
    prepare,
    request,
    sign_in,
)


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """Return a state folder with a policy, the folder that its secrets were moved to, and the first admin's cookie."""
    home, kept, control = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("kept") / "secrets", free_port()
    prepare(home)
    with agent(home), control_plane(home, control, GATEWALL_WORKERS="1"):
        cookie = sign_in(control)
        (home / "secrets").rename(kept)
    return home, kept, cookie


@pytest.fixture
def variables(published):
    _, kept, _ = published
    return {f"GATEWALL_{name}_FILE": str(kept / file) for name, file in FILES.items()}


FILES = {"JWT_KEYS": "jwt-keys", "MANIFEST_KEY": "manifest-key"}


def test_the_data_plane_needs_only_the_keys_of_sessions_and_manifest(published, variables):
    home, _, cookie = published
    port = free_port()
    with data_plane(home, port, GATEWALL_WORKERS="1", **variables):
        assert request(port, "/wall/auth", {"Cookie": cookie}).status == 200
        assert request(port, "/wall/auth").status == 401


@pytest.mark.parametrize("command", ["control_plane", "agent", "check"])
def test_no_other_command_starts_with_those_keys_alone(published, variables, command):
    run = subprocess.run(
        manager(command),
        cwd=BASE,
        env=environment(published[0], **variables),
        capture_output=True,
        text=True,
        check=False,
    )

    assert (run.returncode, run.stderr.count("\n")) == (2, 1)
    assert "GATEWALL_MANIFEST_KEY is for the data plane alone" in run.stderr
