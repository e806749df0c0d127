"""The unit tests: no Django, no database, no network, and the same examples on every run."""

import pytest
import pytest_socket
from hypothesis import HealthCheck, settings

from gatewall.engine.waf import vector
from gatewall.engine.waf.builtin_matcher import PATTERNS
from tests.support.patterns import builtin_scanner
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


def pytest_addoption(parser, pluginmanager):
    # The folder must run with ``-p no:django`` too, where nobody else knows this line of pyproject.toml.
    if not pluginmanager.has_plugin("django"):
        parser.addini("DJANGO_SETTINGS_MODULE", "read by pytest-django")


@pytest.hookimpl(trylast=True)
def pytest_runtest_setup():
    # A unit that opens a socket is none; the plugin lifts the block after each test.
    pytest_socket.disable_socket()


@pytest.fixture(scope="session", autouse=True)
def _compiled_once():
    """Load the built-in patterns from the database that all tests share."""
    compiled = vector._compiled
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            vector, "_compiled", lambda patterns: builtin_scanner() if patterns == PATTERNS else compiled(patterns)
        )
        yield


@pytest.fixture
def files(tmp_path):
    """The published policy of a host that has published nothing yet."""
    return some_files(tmp_path)


@pytest.fixture
def folder(tmp_path):
    """Where ``files`` keeps it."""
    return tmp_path / "policy"
