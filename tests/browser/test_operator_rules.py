"""Access rules in a browser: made with the form, put in order by dragging or with buttons, and asked about."""

import pytest

from tests.browser.explaining import enter
from tests.browser.test_every_page import EACH_LOOK, LOOKS, checked

LIST, ADD = "/admin/policies/accessrule/", "/admin/policies/accessrule/add/"


@pytest.fixture
def rules(wall, visit):
    """Return an admin at the list of three rules of a host that nobody asks for; the rules go afterwards."""
    admin = visit()
    enter(wall, admin)
    for name, path in (("first", "/a"), ("second", "/b"), ("third", "/c")):
        admin.goto(wall.page(ADD))
        admin.fill("#id_name", name)
        admin.select_option("#id_access", "two_factor")
        admin.locator("input[name=paths_value]").first.fill(path)
        admin.click("input[name=_save]")
    yield admin
    admin.goto(wall.page(LIST))
    while admin.locator("#result_list th a").count():
        admin.locator("#result_list th a").first.click()
        admin.locator("a.deletelink").click()
        admin.locator("#content form [type=submit]").click()
        admin.goto(wall.page(LIST))


def names(page):
    return page.locator("#result_list th.field-name").all_inner_texts()


def test_rules_are_dragged_and_moved_with_buttons(wall, visit, rules):
    rules.goto(wall.page(LIST))
    rows = rules.locator("#result_list tbody tr")
    with rules.expect_navigation():
        rows.nth(2).drag_to(rows.nth(0))
    dragged = names(rules)
    plain = visit(java_script_enabled=False)
    enter(wall, plain)
    plain.goto(wall.page(LIST))
    plain.get_by_label("Move third down").click()

    assert dragged == ["third", "first", "second"]
    assert names(plain) == ["first", "third", "second"]


@pytest.mark.parametrize("look", EACH_LOOK)
def test_their_pages_are_for_everybody(wall, visit, rules, look):
    scheme, width = LOOKS[look]
    page = visit(color_scheme=scheme, viewport={"width": width, "height": 700})
    enter(wall, page)
    wrong = []
    for name, path in {
        "list": LIST,
        "who": "/admin/who-can-enter/?host=office.gate.test&path=/a&method=GET",
    }.items():
        page.goto(wall.page(path))
        wrong += [each for each in checked(page, name) if "too small" not in each or name == "who"]  # Django's boxes

    assert wrong == []
