"""An installation with something in it, for the tests that take its parts away."""

import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from gatewall.operations.launcher import free_port
from tests.planes import furnish
from tests.processes import control_plane, prepare


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
