"""Access rules in a browser: create them with the form, order them by dragging or buttons, and test them."""

import pytest

from tests.browser.explaining import enter
from tests.browser.test_every_page import EACH_LOOK, LOOKS, checked
from tests.support.processes import send

LIST, API = "/admin/policies/accessrule/", "/access-rules"


@pytest.fixture
def rules(wall):
    """Create two rules for an unused path; delete all rules afterwards."""
    for name, path in (("first", "/a"), ("second", "/b")):
        paths = [{"match": "prefix", "value": path}]
        send(wall.control, wall.token, "POST", API, {"name": name, "access": "two_factor", "paths": paths})
    yield
    for rule in send(wall.control, wall.token, "GET", API)["results"]:
        send(wall.control, wall.token, "DELETE", f"{API}/{rule['id']}")


def names(page):
    return page.locator("#result_list th.field-name").all_inner_texts()


@pytest.mark.usefixtures("rules")
def test_rules_are_made_dragged_and_moved_with_buttons(wall, visit):
    page = visit()
    enter(wall, page)
    page.goto(wall.page(f"{LIST}add/"))
    page.fill("#id_name", "third")
    page.check('#id_access [value="two_factor"]')
    page.locator("input[name=paths_value]").first.fill("/c")
    page.click("input[name=_save]")
    page.goto(wall.page(LIST))
    rows = page.locator("#result_list tbody tr")
    with page.expect_navigation():
        rows.nth(2).drag_to(rows.nth(0))
    dragged = names(page)
    plain = visit(java_script_enabled=False)
    enter(wall, plain)
    plain.goto(wall.page(LIST))
    plain.get_by_label("Move third down").click()

    assert dragged == ["third", "first", "second"]
    assert names(plain) == ["first", "third", "second"]


@pytest.mark.usefixtures("rules")
@pytest.mark.parametrize("look", EACH_LOOK)
def test_access_rule_pages_are_accessible(wall, visit, look):
    scheme, width = LOOKS[look]
    page = visit(color_scheme=scheme, viewport={"width": width, "height": 700})
    enter(wall, page)
    wrong = []
    for name, path in {
        "list": LIST,
        "who": "/admin/who-can-enter/?host=office.gate.test&path=/a&method=GET",
    }.items():
        page.goto(wall.page(path))
        wrong += [
            each for each in checked(page, name) if "too small" not in each or name == "who"
        ]  # Django's own boxes

    assert wrong == []


@pytest.mark.parametrize("look", EACH_LOOK)
def test_profile_of_an_app_is_applied_and_removed_without_script(wall, visit, look):
    scheme, width = LOOKS[look]
    page = visit(java_script_enabled=False, color_scheme=scheme, viewport={"width": width, "height": 700})
    enter(wall, page)
    page.goto(wall.page("/admin/policies/authorizeddomain/"))
    page.click("#result_list tr:has(th a:text-is('closed.gate.test')) .field-app_profiles a")
    page.get_by_role("button", name="Gitea").click()
    applied = page.locator(".messagelist").inner_text()
    page.get_by_role("button", name="Remove").click()

    assert "closed.gate.test" in applied
    assert "closed.gate.test" in page.locator(".messagelist").inner_text()
    assert page.get_by_role("button", name="Remove").count() == 0
    assert _wrong_on_the_page_of_profiles(wall, visit, scheme, width) == []


def _wrong_on_the_page_of_profiles(wall, visit, scheme, width):
    page = visit(color_scheme=scheme, viewport={"width": width, "height": 700})
    enter(wall, page)
    page.goto(wall.page("/admin/app-profiles/?domain=closed.gate.test"))
    page.locator("section:has(#profile-gitea) summary").click()
    return checked(page, "profiles")
