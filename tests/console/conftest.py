"""The operator pages as an admin sees them, and answers of the gate in the log."""

from importlib import import_module

import pytest
from django.test import Client

from tests.admin.conftest import Pages, pages
from tests.wall import enter_admin_site

__all__ = ["pages"]

ME = "198.51.100.7"


@pytest.fixture
def visits(auth, settings):
    """Return a function that asks the gate and returns the decision id; the answers are in the log then."""

    def visit(**headers):
        answer = auth(**headers)
        import_module("audit.ingest").ship(settings.GATEWALL_HOME / "spool")
        return answer.headers["X-Gatewall-Decision-Id"]

    return visit


@pytest.fixture
def behind_proxy(alice):
    """The pages as Alice sees them through the proxy, from ``ME``."""
    browser = Pages(Client(enforce_csrf_checks=True, headers={"X-Forwarded-For": ME, "Host": "testserver"}))
    enter_admin_site(browser.client, alice)
    return browser
