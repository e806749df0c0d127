"""Plans in the browser: plan and apply a document, see a visitor refused, undo the change."""

import pytest

from tests.browser.installation import SUFFIX
from tests.browser.operators import enter
from tests.browser.test_every_page import EACH_LOOK, LOOKS, checked
from tests.browser.test_operator_backtest import answers, call, decisions
from tests.support.processes import PATIENCE, wait_until

HOST = f"office.{SUFFIX}"
CLOSED = f"""version: 1
access_rules:
- name: reports are closed
  domains: [{HOST}]
  paths:
  - match: prefix
    value: /seen/reports
  access: denied
expect:
- name: the wiki stays open
  request: {{client: 198.51.100.7, host: {HOST}, uri: /seen/wiki}}
  effect: challenge
"""


def plan(wall, page, document):
    page.goto(wall.page("/admin/plan/"))
    page.fill("#id_document", document)
    page.get_by_role("button", name="Plan", exact=True).click()
    page.get_by_text("requests in total").wait_for(timeout=1000 * PATIENCE)  # the page reloads itself


@pytest.mark.parametrize("look", EACH_LOOK)
def test_a_plan_is_made_read_applied_and_undone(wall, visit, look):
    scheme, width = LOOKS[look]
    page = visit(color_scheme=scheme, viewport={"width": width, "height": 700})
    path = "/seen/reports/q3"
    assert answers(wall, path)[0] != 403
    wait_until(lambda: any(asked == path for asked, _ in decisions(wall).values()), what="the access log")
    enter(wall, page, "/plan/?document=current")
    wrong = checked(page, "plan-current")
    assert f"name: {HOST}" in page.input_value("#id_document")
    page.fill("#id_document", "version: 1\nnonsense: 1\n")
    page.get_by_role("button", name="Plan", exact=True).click()
    assert "line 2, column 1" in page.locator("[role=alert]").inner_text()
    wrong += checked(page, "plan-refused")

    plan(wall, page, CLOSED)
    assert "admin loses" in page.locator(".access").inner_text()
    wrong += checked(page, "plan")
    page.fill("#id_undo_people", "3")
    page.fill("#id_undo_minutes", "5")
    page.get_by_role("button", name="Apply").click()
    page.get_by_text("So far it refused").wait_for()
    wrong += checked(page, "plan-applied")
    refused = answers(wall, path)[0]
    page.get_by_role("button", name="Revert it now").click()
    page.get_by_text("The change is reverted.").wait_for()

    assert refused == 403
    assert answers(wall, path)[0] != 403
    page.goto(wall.page("/admin/plan/"))
    wrong += checked(page, "plans")
    assert call(wall, "GET", "/policy/plan")["results"][0]["applied_revision"]
    assert wrong == [], "\n".join(wrong)


def test_a_plan_is_made_without_scripts(wall, visit):
    page = visit(java_script_enabled=False)
    enter(wall, page)

    plan(wall, page, "version: 1\nblocklist:\n- ip: 192.0.2.99\n")

    assert "192.0.2.99" in page.locator(".change.created").inner_text()
    assert page.get_by_role("button", name="Apply").is_visible()


@pytest.mark.parametrize("look", EACH_LOOK)
def test_the_shadow_policy_page_is_accessible(wall, visit, look):
    scheme, width = LOOKS[look]
    page = visit(color_scheme=scheme, viewport={"width": width, "height": 700})
    enter(wall, page, "/shadow/?document=current")
    wrong = checked(page, "shadow-form")
    page.fill("#id_document", "nonsense: 1\n")
    page.get_by_role("button", name="Try it").click()
    page.get_by_text("line 1, column 1").first.wait_for()
    wrong += checked(page, "shadow-refused")
    page.fill("#id_document", CLOSED)
    page.get_by_role("button", name="Try it").click()
    page.get_by_text("The shadow policy is set.").wait_for()
    wrong += checked(page, "shadow")
    page.get_by_role("button", name="Stop").click()
    page.get_by_text("There is no shadow policy.").wait_for()

    assert wrong == [], "\n".join(wrong)
