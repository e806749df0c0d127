"""The unit tests: no Django, no database, no network, and the same examples on every run."""

import pytest
import pytest_socket
from hypothesis import HealthCheck, settings

from gatewall.engine.waf import vector
from tests.support.patterns import scanner_of
from tests.unit.publications import some_files

# Nothing about time: a slow machine is no finding.
settings.register_profile(
    "unit",
    database=None,
    deadline=None,
    derandomize=True,
    max_examples=30,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("unit")
# Before the modules are imported: some make a matcher for all their tests.
vector._compiled = scanner_of  # type: ignore[assignment] # patterns from a file stand in for a cache of compiled ones


def pytest_addoption(parser, pluginmanager):
    # The folder must run with ``-p no:django`` too, where nobody else knows this line of pyproject.toml.
    if not pluginmanager.has_plugin("django"):
        parser.addini("DJANGO_SETTINGS_MODULE", "read by pytest-django")


@pytest.hookimpl(trylast=True)
def pytest_runtest_setup():
    # A unit that opens a socket is none; the plugin lifts the block after each test.
    pytest_socket.disable_socket()


@pytest.fixture
def files(tmp_path):
    """The published policy of a host that has published nothing yet."""
    return some_files(tmp_path)


@pytest.fixture
def folder(tmp_path):
    """Where ``files`` keeps it."""
    return tmp_path / "policy"
