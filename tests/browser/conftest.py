"""One installation and one browser for the whole folder.

While playwright's synchronous API is open, an event loop runs in this thread, and Django refuses database
access there. So playwright is closed before the tests of other folders run.
"""

import os

import pytest
from playwright.sync_api import sync_playwright

from tests.browser.installation import Watch, find_chromium, installation, launch
from tests.support.processes import PATIENCE

NOT_RUN = (
    "NOT RUN: the visitor pages in a browser, because there is no chromium (apt-get install chromium-headless-shell)"
)


def pytest_collection_modifyitems(config, items):
    """Deselect this folder if there is no chromium; on a build server, fail instead."""
    ours = [item for item in items if "tests/browser/" in item.path.as_posix()]
    for item in ours:
        item.add_marker("browser")
    if ours and find_chromium() is None:
        if os.environ.get("CI") == "true":
            raise pytest.UsageError(NOT_RUN)
        config.hook.pytest_deselected(items=ours)
        items[:] = [item for item in items if item not in ours]


def pytest_terminal_summary(terminalreporter, config):
    if _is_left_out(config):
        terminalreporter.write_line(NOT_RUN)


def _is_left_out(config):
    """Return whether to report the missing chromium: not in the workers of xdist."""
    return not hasattr(config, "workerinput") and find_chromium() is None


def pytest_sessionfinish(session, exitstatus):
    if _is_left_out(session.config) and exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.OK


@pytest.fixture(scope="session")
def wall(tmp_path_factory, until_folder_ends):
    return until_folder_ends.enter_context(installation(tmp_path_factory.mktemp("home")))


@pytest.fixture(scope="session")
def browser(until_folder_ends):
    executable = find_chromium()
    assert executable is not None, "there is no chromium"
    launched = launch(until_folder_ends.enter_context(sync_playwright()), executable)
    until_folder_ends.callback(launched.close)
    return launched


@pytest.fixture
def visit(browser):
    """Return a function that opens a browser window; no window may violate our content security policy."""
    watch, contexts = Watch(), []

    def open_window(**options):
        context = browser.new_context(**{"viewport": {"width": 800, "height": 900}, **options})
        context.set_default_timeout(1000 * PATIENCE)
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
