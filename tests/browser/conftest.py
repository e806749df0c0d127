"""One installation for the whole run; a browser for each module.

While playwright's synchronous interface is open, an event loop counts as running in this thread, and
Django refuses its database to whoever runs in one. So it is closed again before other modules run.
"""

import os

import pytest
from playwright.sync_api import sync_playwright

from tests.browser.installation import Watch, find_chromium, installation, launch


@pytest.fixture(scope="session")
def chromium():
    """The system's chromium. Without one nothing here runs, which a build server must not pass over."""
    found = find_chromium()
    if found is None:
        words = "NOT RUN: the visitor pages in a browser; there is no chromium (apt install chromium)"
        if os.environ.get("CI") == "true":
            pytest.fail(words)
        pytest.skip(words)
    return found


@pytest.fixture(scope="session")
def wall(chromium, tmp_path_factory):
    with installation(tmp_path_factory.mktemp("home")) as running:
        yield running


@pytest.fixture(scope="module")
def browser(chromium):
    with sync_playwright() as playwright:
        launched = launch(playwright, chromium)
        yield launched
        launched.close()


@pytest.fixture
def visit(browser):
    """Return a function that opens a new browser window; nothing that happens in one may break our policy."""
    watch, contexts = Watch(), []

    def open_window(**options):
        context = browser.new_context(**{"viewport": {"width": 800, "height": 900}, **options})
        context.set_default_timeout(10_000)
        watch.over(context)
        contexts.append(context)
        return context.new_page()

    yield open_window
    for context in contexts:
        context.close()
    assert watch.complaints == []


@pytest.fixture
def page(visit):
    return visit()


def pytest_collection_modifyitems(items):
    """Mark what is in this folder."""
    for item in items:
        if "tests/browser/" in item.path.as_posix():
            item.add_marker("browser")
