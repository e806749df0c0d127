"""From a refused visitor's decision id to an exemption; and the automatic reversal of a lockout."""

import pytest

from tests.browser.explaining import ATTACK, enter, explaining, receipt, refused, shut_out
from tests.browser.test_every_page import EACH_LOOK, LOOKS, checked
from tests.browser.test_journeys import SCRIPTS
from tests.support.processes import wait_until

THROUGH = "You are through"


def passes(page, address):
    page.goto(address)
    return page.locator("h1").inner_text() == THROUGH


@SCRIPTS
def test_the_decision_id_of_a_refusal_leads_to_an_exemption(wall, visit, scripts):
    path = ATTACK.replace("/page", f"/page-{scripts}".lower())
    visitor, admin = visit(), visit(java_script_enabled=scripts)
    refused(wall, visitor)
    visitor.goto(wall.url("office", path))
    number = visitor.locator("code").inner_text()
    enter(wall, admin)

    receipt(wall, admin, number)
    assert "WAF rules found an attack." in admin.locator("main").inner_text()
    for _ in range(10):  # one exemption for each rule that refuses
        offers = admin.locator(".offer")
        if offers.count() == 0:
            break
        words = offers.first.inner_text()
        assert "office.gate.test" in words
        assert "argument text" in words
        offers.first.locator("button").click()
        assert "?again=1" in admin.url

    # Today's answer is undecidable because of rules that also inspect headers, which are not recorded.
    assert "matches no rule that can have an exclusion" in admin.locator("main").inner_text()
    wait_until(lambda: passes(visitor, wall.url("office", path)), what="the visitor's way through")
    assert not passes(visitor, wall.url("office", path.replace("text=", "more=")))
    assert not passes(visitor, wall.url("office", path.replace("/editor", "/elsewhere")))
    assert not passes(visitor, wall.url("closed", path))


def test_an_unconfirmed_lockout_is_reverted_automatically(wall, visit):
    visitor, admin = visit(), visit()
    refused(wall, visitor)
    assert passes(visitor, wall.url("office"))
    enter(wall, admin)

    shut_out(wall, admin)
    banner = admin.locator(".waiting").inner_text()
    wait_until(lambda: not passes(visitor, wall.url("office")), what="the lock-out")
    wait_until(lambda: passes(visitor, wall.url("office")), what="its end", pause=0.5)  # ten seconds pass before it

    assert "locks out the address it was made from: 127.0.0.1" in banner
    admin.goto(wall.page("/admin/history/"))
    assert admin.locator(".waiting").count() == 0
    first, second = admin.locator(".revisions > li").all()[:2]
    assert "was not confirmed: 1 × blocklist entry (manual) removed" in first.inner_text()  # noqa: RUF001 - as the page has it
    assert "admin: 1 × blocklist entry (manual) added" in second.inner_text()  # noqa: RUF001 - the same


def test_a_confirmed_lockout_lasts_until_its_entry_is_deleted(wall, visit):
    visitor, admin = visit(), visit()
    refused(wall, visitor)
    enter(wall, admin)
    shut_out(wall, admin)

    admin.click("role=button[name='Keep it']")

    assert "was confirmed by admin" in admin.locator("main").inner_text()
    admin.wait_for_timeout(12_000)
    assert not passes(visitor, wall.url("office"))
    admin.goto(wall.page("/admin/policies/blocklistentry/"))
    admin.click("#result_list >> text=127.0.0.1")  # there may be entries of other tests
    admin.click("a.deletelink")
    admin.click("#content form [type=submit]")
    wait_until(lambda: passes(visitor, wall.url("office")), what="the way in")


@pytest.mark.parametrize("look", EACH_LOOK)
def test_explain_history_and_import_pages_are_accessible(wall, visit, look):
    number = refused(wall, visit())
    scheme, width = LOOKS[look]
    page, wrong, seen = visit(color_scheme=scheme, viewport={"width": width, "height": 700}), [], []
    enter(wall, page)
    for name in explaining(wall, page, number):
        seen.append(name)
        wrong += checked(page, name)

    assert wrong == []
    assert len(seen) == 11
