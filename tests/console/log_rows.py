"""Rows of the log page for tests: a few answers, and the page that shows them."""

from urllib.parse import urlencode

from tests.console.conftest import ago

PAGE = "/log/"


def shown(pages, **query):
    """Return the page of the log with these filters."""
    page = pages.get(f"{PAGE}?{urlencode(query)}")
    assert page.status_code == 200, page.context["log_query"].errors
    return page


def numbers(page):
    """Return the numbers of the rows that a page shows."""
    return [int(str(each.row.decision_id)[-4:]) for each in page.context["rows"]]


def a_few(log):
    """Record four answers that differ in the filtered columns."""
    log(
        ago(1, 1),
        ago(2, 2, client_ip="203.0.113.9", country_code=None, host="git.example", path="/repo.git", query=""),
        ago(3, 3, outcome="allow", status=200, reason="session-valid", rules=[], subject=None),
        ago(4, 4, method="POST", user_agent="sqlmap"),
    )
