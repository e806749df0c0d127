"""A backtest in the browser, and its prediction compared with the later answers of nginx, request by request."""

import os
import re
from contextlib import contextmanager

import pytest

from tests.browser.installation import SUFFIX
from tests.browser.screenshots import keep
from tests.browser.test_every_page import EACH_LOOK, LOOKS, checked
from tests.support.processes import PASSWORD, PATIENCE, request, send, wait_until

HOST = f"office.{SUFFIX}"
SEEN = "/seen/"
PATHS = [
    *(f"{SEEN}page/{number}" for number in range(6)),
    *(f"{SEEN}search?q=wombat{number}" for number in range(3)),
    f"{SEEN}wombats",
]
RUN = re.compile(r"/admin/backtest/(\d+)/")
RULE = {"name": "wombats", "pattern": r"q=wombat\d"}


def keep_if_asked(page, name):
    """Write a picture if OPERATOR_SCREENSHOTS=1."""
    if os.environ.get("OPERATOR_SCREENSHOTS"):
        keep(page, f"operator-{name}")


def call(wall, method, path, body=None):
    return send(wall.control, wall.token, method, path, body)


def answers(wall, path):
    """Return the answers of nginx to a signed-in user and to an anonymous visitor."""
    host = {"Host": f"{HOST}:{wall.port}"}
    person = request(wall.port, path, {**host, "Cookie": f"service.token={wall.token}"})
    return person.status, request(wall.port, path, host).status


def decisions(wall):
    """Return the decisions about our requests by id, as (path and query, signed in)."""
    rows = call(wall, "GET", f"/access-logs?host={HOST}&path={SEEN}*&page_size=500")["results"]
    return {
        row["decision_id"]: (f"{row['path']}?{row['query']}" if row["query"] else row["path"], bool(row["subject"]))
        for row in rows
    }


def enter(wall, page):
    page.goto(wall.page("/admin/"))
    page.fill("#id_username", "admin")
    page.fill("#id_password", PASSWORD)
    page.click("[type=submit]")


def finished(wall, page):
    """Wait for the backtest of a page, and for the page to show its result; return it."""
    page.wait_for_url(RUN)
    path = f"/policy/backtest/{RUN.search(page.url)[1]}"
    wait_until(lambda: call(wall, "GET", path)["state"] not in {"queued", "running"}, what="the end of the backtest")
    run = call(wall, "GET", path)
    assert run["state"] == "finished", run
    page.get_by_role("button", name="Enforce").wait_for(timeout=1000 * PATIENCE)  # the page reloads itself
    return run


@contextmanager
def no_trace(wall):
    """Delete the created rules afterwards."""
    yield
    for rule in call(wall, "GET", "/waf-rules?search=wombats")["results"]:
        call(wall, "DELETE", f"/waf-rules/{rule['id']}")


def test_a_prediction_is_confirmed_request_for_request(wall, page):
    before = {path: answers(wall, path) for path in PATHS}
    wait_until(lambda: len(decisions(wall)) >= 2 * len(PATHS), what="the access log")
    recorded = decisions(wall)

    with no_trace(wall):
        enter(wall, page)
        page.goto(wall.page("/admin/backtest/"))
        page.click(".kinds >> text=WAF rule")
        page.fill("#id_name", RULE["name"])
        page.fill("#id_pattern", RULE["pattern"])
        page.check("input[name=targets][value=query]")
        page.select_option("#id_window", "1")
        page.get_by_role("button", name="Run the backtest").click()
        result = finished(wall, page)["result"]
        changed = {each for turn in result["changes"]["results"] for each in turn["examples"]}
        assert result["changed"] == len(changed) == 6  # three paths, each for a user and an anonymous visitor
        assert result["people"]["results"][0]["name"] == "admin"
        keep_if_asked(page, "backtest")

        page.get_by_role("button", name="Enforce").click()
        page.get_by_text("This draft was saved to the policy").wait_for()
        after = {path: answers(wall, path) for path in PATHS}

    predicted = {recorded[each] for each in changed}
    for path in PATHS:
        for is_signed_in, was, is_now in zip((True, False), before[path], after[path], strict=True):
            expected = 403 if (path, is_signed_in) in predicted else was
            assert is_now == expected, (path, is_signed_in)
    assert {path for path, _ in predicted} == {path for path in PATHS if "q=wombat" in path}


@pytest.mark.parametrize("look", EACH_LOOK)
def test_the_pages_are_accessible(wall, visit, look):
    scheme, width = LOOKS[look]
    page = visit(color_scheme=scheme, viewport={"width": width, "height": 700})
    answers(wall, f"{SEEN}page/1")
    wait_until(lambda: decisions(wall), what="the access log")
    suffix = "" if scheme == "light" else "-dark"
    wrong = []

    enter(wall, page)
    for name, path in (
        ("backtest-form", "/admin/backtest/?kind=waf-rules"),
        ("backtest-list", "/admin/backtest/?kind=ip-black-list"),
        ("blast-radius", "/admin/blast-radius/?network=127.0.0.0/8"),
    ):
        page.goto(wall.page(path))
        wrong += checked(page, name)
        keep_if_asked(page, f"{name}{suffix}")
    page.goto(wall.page("/admin/backtest/?kind=ip-black-list&ip=127.0.0.1"))
    page.get_by_role("button", name="Run the backtest").click()
    wrong += checked(page, "backtest-forced")
    page.check("#id_force")
    page.get_by_role("button", name="Run the backtest").click()
    finished(wall, page)
    wrong += checked(page, "backtest")
    keep_if_asked(page, f"backtest-result{suffix}")

    page.goto(wall.page("/admin/backtest/?kind=ip-black-list"))
    page.fill("#id_ip", "10.0.0.1/8")
    page.get_by_role("button", name="Run the backtest").click()
    wrong += checked(page, "backtest-refused")

    assert wrong == [], "\n".join(wrong)
