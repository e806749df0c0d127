"""Request for access in two browsers without scripts: refused, requested, approved on a phone, let in, expired."""

from datetime import UTC, datetime, timedelta

from tests.browser.installation import sign_in
from tests.browser.operators import enter
from tests.browser.test_every_page import checked
from tests.browser.test_journeys import THROUGH, heading
from tests.support.processes import send, wait_until

PHONE = {"width": 390, "height": 844}


def fits(page):
    """Return whether the page is not wider than the screen."""
    return page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_a_refused_user_asks_and_an_admin_grants_access_on_a_phone(wall, visit):
    page = visit(java_script_enabled=False, viewport=PHONE)
    name = wall.a_user(all_domains=False, authorized_domains=["office.gate.test"])
    page.goto(wall.url("closed", "/photos/7?d=e"))
    sign_in(page, name)
    assert heading(page) == "No entry"

    page.click("text=Ask for access")
    page.wait_for_selector("#reason")  # the page shows the form once the refusal is in the log
    assert fits(page)
    page.fill("#reason", "the wedding photos")
    page.click("main button")
    assert "This page will show the answer." in page.locator("[role=status]").inner_text()

    admin = visit(java_script_enabled=False, viewport=PHONE)
    enter(wall, admin, "/access-requests/")
    assert fits(admin)
    admin.click(f"text={name}: ")  # must not match visitor10 of another test
    assert "the wedding photos" in admin.locator("#content").inner_text()
    assert fits(admin)
    admin.locator("button[name=lifetime]").first.click()
    assert "Access is given." in admin.locator(".messagelist").inner_text()
    with_scripts = visit(viewport=PHONE)
    enter(wall, with_scripts, "/access-requests/")
    assert checked(with_scripts, "decided requests") == []

    page.click("text=Open the site", timeout=60_000)  # the page of the request has reloaded
    assert (page.url, heading(page)) == (wall.url("closed", "/photos/7?d=e"), THROUGH)
    page.goto(wall.url("closed", "/"))
    assert heading(page) == "No entry"

    (grant,) = send(wall.control, wall.token, "GET", f"/grants?user={name}")["results"]
    soon = (datetime.now(UTC) + timedelta(seconds=1)).isoformat()
    send(wall.control, wall.token, "PUT", f"/grants/{grant['id']}", {"expires_at": soon})
    wait_until(lambda: page.goto(wall.url("closed", "/photos/7")).status == 403, what="the end of the grant")
    assert heading(page) == "No entry"
