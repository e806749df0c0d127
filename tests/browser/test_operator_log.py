"""From the dashboard to a row of the log and to a ban of its client; accessibility of these pages."""

import re
import uuid
from datetime import datetime, timedelta

import pytest

from tests.browser.operators import enter, fill_log, visit_from
from tests.browser.test_every_page import EACH_LOOK, LOOKS, checked
from tests.support.form import FULL
from tests.support.processes import wait_until

ATTACKER, NEIGHBOUR = "127.0.0.77", "127.0.0.78"
PAGES = {
    "index": "/",
    "dashboard": "/dashboard/",
    "month": "/dashboard/?window=30d&refresh=60",
    "hour": "/dashboard/?window=1h",
    "log": "/log/?page_size=10",
    "filtered": "/log/?outcome=deny&exclude_country_code=DE&refresh=30&page_size=10",
    "refused": "/log/?client_ip=nonsense&colour=red&status=7",
    "ban": "/log/ban/?network=198.51.100.7",
    "allow": "/log/allow/?network=198.51.100.7&host=office.gate.test",
    "view": "/log/views/?query=outcome%3Ddeny",
    "search": "/search/?q=admin",
    "list": "/policies/wafrule/?action__exact=block",
    "form": "/policies/accessrule/add/",
    "settings": "/gatewall/systemsettings/1/change/",
}
VISIBLE = "[...document.querySelectorAll('.entry')].filter(e => e.getBoundingClientRect().bottom <= innerHeight).length"
IN_FULL = {"index", "hour"}
"""The dashboard again, at another address and for another window."""
DJANGO = {"list", "form", "settings"}
"""Pages with Django's own small boxes."""


@pytest.fixture(scope="module")
def busy(wall):
    """Return the installation with three days in its log."""
    fill_log(wall.home, number=2_000)
    return wall


def in_tokyo(moment, form, hours=9):
    return f"{datetime.fromisoformat(moment) + timedelta(hours=hours):{form}}"


def number_in(page):
    return int(page.locator(".tiles strong").first.inner_text().replace(",", ""))


def test_from_the_dashboard_to_a_ban_without_a_script(wall, visit):
    path = f"/{uuid.uuid4()}"
    assert [visit_from(wall, ATTACKER, path), visit_from(wall, NEIGHBOUR, path)] == [401, 401]
    page = visit(java_script_enabled=False, viewport={"width": 1200, "height": 900})
    enter(wall, page)

    def shipped():
        page.goto(wall.page(f"/admin/log/?path={path}"))
        return page.locator(".entry").count() == 2

    wait_until(shipped, what="two rows")
    page.click("#sidebar >> text=Dashboard")
    assert number_in(page) >= 2
    page.click(".tiles >> text=Requests")
    assert "start_time=" in page.url
    page.click("text=Filters")
    page.fill("#f-path", path)
    page.click(".find [type=submit]")
    page.wait_for_selector(f".chips >> text={path}")
    assert page.locator(".entry").count() == 2
    page.locator(".entry .client .value", has_text=NEIGHBOUR).hover()
    page.locator(".not:visible", has_text=f"client {NEIGHBOUR}").click()
    page.wait_for_selector(f".chips >> text={NEIGHBOUR}")
    assert page.locator(".entry").count() == 1
    assert f"exclude_client_ip={NEIGHBOUR}" in page.url

    page.click(".views summary")
    page.click("text=Save these filters")
    page.fill("#view-name", f"view {path[1:9]}")
    page.click(".views [type=submit]")
    page.click("text=Remove all")
    page.click(f"text=view {path[1:9]}")
    page.wait_for_selector(f".chips >> text={NEIGHBOUR}")
    assert page.locator(".entry").count() == 1

    page.click(".entry .menu summary")
    page.click(".menu >> text=Ban")
    assert page.input_value("#id_network") == ATTACKER
    assert re.search(r"decision [0-9a-f-]{36}", page.input_value("#id_remark"))
    page.check("text=for an hour")
    page.click("form.panel [type=submit]")
    assert f"{ATTACKER} is banned for an hour." in page.locator(".messagelist").inner_text()
    assert f"exclude_client_ip={NEIGHBOUR}" in page.url
    wait_until(lambda: visit_from(wall, ATTACKER, path) == 403, what="the attacker is refused")
    assert visit_from(wall, NEIGHBOUR, path) == 401


def test_twenty_rows_fit_and_a_row_opens_in_place(busy, visit):
    page = visit(viewport={"width": 1200, "height": 900})
    enter(busy, page)
    wait_until(lambda: page.goto(busy.page("/admin/log/")) and page.locator(".entry").count() == 50, what="a busy log")

    assert page.evaluate(VISIBLE) >= 20
    assert not page.locator(".more").first.is_visible()
    page.click(".entry >> nth=3 >> css=time")
    page.locator(".entry .toggle").nth(4).press("Space")
    assert page.locator(".more:visible dl").count() == 2
    page.locator(".entry .menu summary").first.press("Enter")
    page.keyboard.press("Escape")
    assert page.locator(".menu[open]").count() == 0

    bars = page.locator("#bars a").all()
    for number, move in ((-20, page.mouse.down), (-10, page.mouse.up)):
        box = bars[number].bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 40)
        move()
    page.wait_for_url("**/log/?start_time=*")
    assert page.locator(".chips li").count() == 3
    page.click("text=As a table")
    page.locator(".histogram tbody a").nth(1).click()
    page.wait_for_selector(".histogram details:not([open])")
    assert page.locator(".chips li").count() == 3


def test_the_live_log_updates_until_the_user_scrolls(busy, visit):
    path = f"/{uuid.uuid4()}"
    page = visit(viewport={"width": 1200, "height": 500}, timezone_id="Asia/Tokyo")
    enter(busy, page, "/log/")
    page.click("#live")
    visit_from(busy, NEIGHBOUR, path)
    page.wait_for_selector(f'.entry >> text="{path}"')
    times = page.evaluate("[...document.querySelectorAll('.entry time')].map(e => [e.dateTime, e.title, e.innerText])")
    assert [in_tokyo(moment, "%Y-%m-%d %H:%M:%S UTC", hours=0) for moment, _, _ in times] == [each[1] for each in times]
    assert [in_tokyo(moment, "%m-%d %H:%M:%S") for moment, _, _ in times] == [each[2] for each in times]
    assert "UTC" not in page.locator("#content").inner_text()
    page.mouse.wheel(0, 300)
    page.wait_for_selector("#live-state:has-text('Paused')")
    first = page.locator(".entry").first.get_attribute("id")
    visit_from(busy, NEIGHBOUR, f"{path}/later")
    page.wait_for_timeout(3_000)
    assert page.locator(".entry").first.get_attribute("id") == first
    page.mouse.wheel(0, -300)
    page.wait_for_selector(f'.entry >> text="{path}/later"')
    assert page.locator(f"#{first}").count() == 1


def test_charts_and_filters_use_the_time_zone_of_the_browser(busy, visit):
    page = visit(timezone_id="Asia/Tokyo")
    enter(busy, page, "/dashboard/?window=24h")
    labels = "[...document.querySelectorAll('svg.trend [data-from]')].map(e => [e.dataset.from, e.textContent.trim()])"
    for moment, label in page.evaluate(labels):
        assert label in {in_tokyo(moment, "%m-%d %H:%M"), in_tokyo(moment, "%H:%M")}
    page.goto(busy.page("/admin/log/?start_time=2026-01-31T12:00:00Z&end_time=2026-01-31T20:30:00Z"))
    assert page.locator(".chips time").all_inner_texts() == ["2026-01-31 21:00:00", "2026-02-01 05:30:00"]
    page.click("text=Filters")
    assert page.input_value("#f-end_time") == "2026-02-01T05:30"
    page.fill("#f-end_time", "2026-02-01T06:30:00")
    page.click(".find [type=submit]")
    page.wait_for_url("**start_time=2026-01-31T12%3A00%3A00Z&end_time=2026-01-31T21%3A30%3A00Z*")


def test_a_ban_of_the_callers_own_address_must_be_forced(wall, visit):
    page = visit()
    enter(wall, page, "/log/ban/?network=127.0.0.1")
    page.click("form.panel [type=submit]")

    assert "your own address 127.0.0.1 would be refused" in page.locator(".errorlist").inner_text()
    assert page.locator("[name=force]").is_visible()


@pytest.mark.parametrize("look", EACH_LOOK)
def test_every_page_is_accessible(busy, visit, look):
    scheme, width = LOOKS[look]
    page = visit(color_scheme=scheme, viewport={"width": width, "height": 700})
    enter(busy, page)
    wait_until(lambda: page.goto(busy.page("/admin/dashboard/")) and number_in(page) > 300, what="a busy log")
    wrong = []
    for name, path in PAGES.items():
        if name in IN_FULL and not FULL:
            continue
        page.goto(busy.page(f"/admin{path}"))
        page.evaluate("document.querySelectorAll('#content details').forEach(each => { each.open = true })")
        page.evaluate("document.querySelectorAll('.toggle').forEach(each => { each.checked = true })")
        wrong += [each for each in checked(page, name) if "too small" not in each or name not in DJANGO]

    assert wrong == []
    assert page.locator("script:not([src])").count() == 0


def test_typing_the_name_of_a_country_picks_it(wall, visit):
    page = visit(viewport={"width": 1200, "height": 900})
    enter(wall, page, "/policies/geoblockrule/add/")
    page.focus("#id_country_code")
    page.keyboard.type("Germany")
    page.click("[name=_save]")

    assert "DE" in page.locator("#result_list").inner_text()

    page.goto(wall.page("/admin/log/"))
    page.click("text=Filters")
    page.focus("#f-country_code")
    page.keyboard.type("Georgia")
    page.click("input[value=Apply]")

    assert page.locator(".chips").inner_text().startswith("country is GE")
