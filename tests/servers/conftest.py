"""A prepared installation, and a port for a server over it."""

import pytest

from gatewall.install.ports import free_port
from tests.support.processes import prepare


@pytest.fixture
def home(tmp_path):
    prepare(tmp_path)
    return tmp_path


@pytest.fixture
def port():
    return free_port()
