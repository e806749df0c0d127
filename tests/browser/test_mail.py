"""Journeys that begin with a mail: an invitation, and a forgotten password."""

from tests.browser.gallery import enrol
from tests.browser.installation import sign_in
from tests.browser.test_journeys import SCRIPTS, THROUGH, heading
from tests.support.processes import PASSWORD

NEW = f"{PASSWORD} of my own"


@SCRIPTS
def test_an_invitation_leads_to_a_password_and_a_protected_site(wall, visit, scripts):
    page = visit(java_script_enabled=scripts, viewport={"width": 360, "height": 740})
    name, link = wall.an_invited_user()

    page.goto(link)
    assert heading(page) == "Welcome"
    assert page.input_value("#username") == name
    page.fill("#username", f"{name}.own")
    page.fill("#new", NEW)
    page.click("button:not([type=button])")
    assert heading(page) == "Signed in"
    page.goto(wall.url("office", "/desk?x=1"))

    assert (page.url, heading(page)) == (wall.url("office", "/desk?x=1"), THROUGH)
    assert f"{name}.own" in page.locator("main").inner_text()
    page.goto(link)
    assert heading(page) == "This link does not work"


def test_a_forgotten_password_is_reset_by_mail_and_a_code(wall, visit):
    page = visit(java_script_enabled=False)
    name = wall.a_user(email="reset@office.test")
    page.goto(wall.url("vault"))
    sign_in(page, name)
    app = enrol(page)
    page.context.clear_cookies()

    page.goto(wall.url("vault", "/papers"))
    page.click("a[href$='/password/forgot']")
    page.fill("#account", "RESET@office.test")
    page.click("button:not([type=button])")
    assert "on its way" in page.locator(".good").inner_text()
    page.goto(wall.link_of_mail("reset@office.test", "password/new"))
    page.fill("#new", NEW)
    page.fill("#code", app.code(steps=1))
    page.click("button:not([type=button])")
    assert heading(page) == "Your password is changed"

    page.goto(wall.url("vault", "/papers"))
    sign_in(page, name)
    assert "wrong" in page.locator("#error").inner_text()
    sign_in(page, name, NEW)
    page.fill("#code", app.recovery_codes[0])
    page.click("button:not([type=button])")
    assert (page.url, heading(page)) == (wall.url("vault", "/papers"), THROUGH)
