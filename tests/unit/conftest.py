"""The unit tests: no Django, no database, no network, and the same examples on every run."""

import os

import pytest
import pytest_socket
from hypothesis import HealthCheck, settings

from gatewall.engine.waf import vector
from tests.support.patterns import scanner_of
from tests.unit.publications import some_files

# No deadline: a slow machine is not a failure.
settings.register_profile(
    "unit",
    database=None,
    deadline=None,
    derandomize=True,
    max_examples=30,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("unit")
# The WAF is compared with the parsers of DRF, which read settings when they are imported.
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
# Before the modules are imported: some create a matcher at import.
vector._compiled = scanner_of  # type: ignore[assignment] # patterns from a file stand in for a cache of compiled ones


def pytest_addoption(parser, pluginmanager):
    # The folder must also run with ``-p no:django``; without that plugin pytest does not know this option.
    if not pluginmanager.has_plugin("django"):
        parser.addini("DJANGO_SETTINGS_MODULE", "read by pytest-django")


@pytest.hookimpl(trylast=True)
def pytest_runtest_setup():
    # Unit tests open no socket. The plugin lifts the block after each test.
    pytest_socket.disable_socket()


@pytest.fixture
def files(tmp_path):
    """The published policy of a host that has published nothing yet."""
    return some_files(tmp_path)


@pytest.fixture
def folder(tmp_path):
    """Return the folder of the published policy of ``files``."""
    return tmp_path / "policy"
