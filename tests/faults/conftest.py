"""Fixtures of a furnished installation, for tests that kill or remove its parts."""

import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from gatewall.install.ports import free_port
from tests.support.processes import control_plane, manage, prepare
from tests.support.servers import furnish

BLOCK = "from policies.services import block_network as block; block(actor='elsewhere', network='{}')"


class Installation(NamedTuple):
    """A state folder that has published its policy, and the token of a valid session."""

    home: Path
    token: str

    @property
    def database(self) -> Path:
        return self.home / "gatewall.sqlite3"


@pytest.fixture(scope="session")
def original(tmp_path_factory):
    home, port = tmp_path_factory.mktemp("original"), free_port()
    prepare(home)
    with control_plane(home, port, GATEWALL_WORKERS="1"):
        token = furnish(port)
    return Installation(home, token)


@pytest.fixture(scope="module")
def copied(original, tmp_path_factory):
    """Return a function that makes one more installation like the original."""

    def copy():
        home = tmp_path_factory.mktemp("home")
        shutil.copytree(original.home, home, dirs_exist_ok=True)
        return Installation(home, original.token)

    return copy


@pytest.fixture
def elsewhere(tmp_path):
    """Return a function that blocks an address from another host of a database, which has a state folder of its own."""

    def block(installation, address):
        other = tmp_path / "other"
        other.mkdir(mode=0o700, exist_ok=True)
        if not (other / "secrets").exists():
            (other / "secrets").symlink_to(installation.home / "secrets")
        manage(other, "shell", "-c", BLOCK.format(address), DATABASE_URL=f"sqlite:///{installation.database}")

    return block
