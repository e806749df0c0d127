"""A lost phone: sign in with a recovery code, replace the app, and sign in with a code of the new app."""

from tests.browser.gallery import enrol, scan
from tests.browser.installation import sign_in
from tests.browser.test_journeys import SCRIPTS, THROUGH, heading


@SCRIPTS
def test_a_lost_phone_is_replaced_with_a_recovery_code(wall, visit, scripts):
    page, name = visit(java_script_enabled=scripts, viewport={"width": 360, "height": 740}), wall.a_user()
    page.goto(wall.url("vault"))
    sign_in(page, name)
    lost = enrol(page)

    page.context.clear_cookies()
    page.goto(wall.url("vault", "/papers"))
    sign_in(page, name)
    page.fill("#code", lost.recovery_codes[0])
    page.click("button:not([type=button])")
    assert (page.url, heading(page)) == (wall.url("vault", "/papers"), THROUGH)

    page.goto(wall.page("/account"))
    page.locator("summary", has_text="Add another app").click()
    page.fill("#app-device", "new phone")
    page.click("form[action$='/enrol'] button")
    new = scan(page)
    page.fill("#code", new.code())
    page.click("form[action$='/confirm'] button")
    assert "The app is added." in page.locator(".good").inner_text()
    page.locator("summary[aria-label='Change: Authenticator app']").click()
    page.click("details[open] form[action$='/apps/remove'] button")
    assert "The app is removed." in page.locator(".good").inner_text()
    assert "new phone" in page.locator("main").inner_text()

    page.context.clear_cookies()
    page.goto(wall.url("vault", "/papers"))
    sign_in(page, name)
    page.fill("#code", lost.code(steps=1))
    page.click("button:not([type=button])")
    assert "wrong" in page.locator("#error").inner_text()
    page.fill("#code", new.code(steps=1))
    page.click("button:not([type=button])")
    assert (page.url, heading(page)) == (wall.url("vault", "/papers"), THROUGH)
