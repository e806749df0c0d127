"""The unit tests: no Django, no database, no network, and the same examples on every run."""

import pytest
import pytest_socket
from hypothesis import settings

settings.register_profile("unit", max_examples=30, deadline=None, derandomize=True, database=None)
settings.load_profile("unit")


def pytest_addoption(parser, pluginmanager):
    # The folder must run with ``-p no:django`` too, where nobody else knows this line of pyproject.toml.
    if not pluginmanager.has_plugin("django"):
        parser.addini("DJANGO_SETTINGS_MODULE", "read by pytest-django")


@pytest.hookimpl(trylast=True)
def pytest_runtest_setup():
    # A unit that opens a socket is none; the plugin lifts the block after each test.
    pytest_socket.disable_socket()
