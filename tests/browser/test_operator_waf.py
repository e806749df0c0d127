"""WAF tasks of operators, in both languages: none takes more clicks than its test's name states."""

import pytest

from tests.browser.explaining import enter, receipt
from tests.browser.operators import visit_from
from tests.browser.test_every_page import checked
from tests.support.processes import wait_until

LANGUAGES = {"english": "en-US", "chinese": "zh-CN"}
REFUSED = 403


class Admin:
    """A signed-in admin whose clicks are counted."""

    def __init__(self, wall, page):
        self.page, self.clicks = page, 0
        enter(wall, page)

    def click(self, selector):
        self.page.locator(selector).first.click()
        self.clicks += 1

    def assert_accessible(self, name):
        """Assert that the page violates no rule of axe, except for Django's own small boxes."""
        wrong = [each for each in checked(self.page, name) if "too small" not in each]
        assert wrong == []


@pytest.fixture(params=["english", pytest.param("chinese", marks=pytest.mark.full)])
def language(request):
    return request.param


@pytest.fixture
def admin(wall, visit, language):
    return Admin(wall, visit(locale=LANGUAGES[language], viewport={"width": 1000, "height": 900}))


def is_refused(wall, path, *, name="office", address="127.0.0.21"):
    return visit_from(wall, address, path, name=name) == REFUSED


def test_from_the_decision_id_of_a_refused_user_to_a_narrow_exemption_in_2_clicks(wall, visit, admin, language):
    path = f"/search-{language}?file=id_rsa"
    visitor = visit()
    visitor.goto(wall.url("office", path))
    number = visitor.locator("code").inner_text()
    receipt(wall, admin.page, number)  # once the answer is in the log
    admin.page.goto(wall.page("/admin/dashboard/"))

    admin.page.keyboard.press("/")
    admin.page.keyboard.type(number)
    admin.page.keyboard.press("Enter")
    admin.click(".found a")
    offer = admin.page.locator(".offer").first.inner_text()
    admin.assert_accessible("receipt")
    admin.click(".offer button")

    assert admin.clicks == 2
    assert "office.gate.test" in offer
    assert f"/search-{language}" in offer
    assert "file" in offer
    wait_until(lambda: not is_refused(wall, path), what="the user's way through")
    assert is_refused(wall, path.replace("file=", "more=")), "another argument"
    assert is_refused(wall, path.replace("/search", "/other"), address="127.0.0.22"), "another path"


def test_a_new_site_is_monitored_for_a_week_excepted_and_blocks_in_4_clicks(wall, admin, language):
    path, report = f"/board-{language}?order=order+by+5", "**/admin/domains/*/waf/"
    admin.page.goto(wall.page("/admin/policies/authorizeddomain/"))
    assert is_refused(wall, path, name="closed", address="127.0.0.23")

    admin.click("#result_list tr:has(th a:text-is('closed.gate.test')) .field-waf a")
    admin.page.wait_for_url(report)
    admin.click("button[value=monitor]")
    wait_until(lambda: not is_refused(wall, path, name="closed"), what="the monitor mode")

    def is_reported():
        admin.page.goto(admin.page.url)  # a reload fails while the clicked page is loading
        return admin.page.locator(".offer").count() == 1

    wait_until(is_reported, what="the report")
    found = admin.page.locator("main").inner_text()
    admin.assert_accessible("report")
    admin.click("button[value=except]")
    admin.click("button[value=block]")

    assert admin.clicks == 4
    assert "sqli-order-by-number" in found
    assert f"/board-{language}" in found
    wait_until(
        lambda: is_refused(wall, path.replace("/board", "/x"), name="closed", address="127.0.0.24"), what="block"
    )
    assert not is_refused(wall, path, name="closed")


def test_a_noisy_rule_is_found_by_its_hits_seen_and_narrowed_in_6_clicks(wall, admin, language):
    rule = "#result_list tr:has(th a:text-is('ssrf-scheme')) .field-hits"

    def counted():
        admin.page.goto(wall.page("/admin/policies/wafrule/?q=ssrf-scheme"))
        return int(admin.page.locator(rule).inner_text())

    path, before = f"/go-{language}?u=gopher://x", counted()
    for number in range(31, 34):
        assert is_refused(wall, path, address=f"127.0.0.{number}")
    wait_until(lambda: counted() == before + 3, what="the hits")
    admin.page.goto(wall.page("/admin/policies/wafrule/"))
    admin.click("th.column-hits .text a")
    admin.click("th.column-hits .text a")  # the rule with most hits first
    hits = [int(each) for each in admin.page.locator(".field-hits").all_inner_texts()]
    admin.assert_accessible("rules")
    with admin.page.expect_navigation():
        admin.click(f"{rule} a")
    clients = admin.page.locator("main").inner_text()
    row = f"tr:has-text('/go-{language}') td.acts"
    admin.click(f"{row} summary")
    admin.click(f"{row} a")
    admin.click(".offer button")

    assert admin.clicks == 6
    assert hits == sorted(hits, reverse=True)
    assert all(f"127.0.0.{number}" in clients for number in range(31, 34))
    wait_until(lambda: not is_refused(wall, path), what="the exemption")
    assert is_refused(wall, path.replace("/go", "/away"), address="127.0.0.34")
