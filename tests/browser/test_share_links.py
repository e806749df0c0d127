"""A share link for a guest: created in the console, bound to a browser, logged, ended and revoked."""

from datetime import UTC, datetime, timedelta

from tests.browser.installation import sign_in
from tests.browser.operators import enter
from tests.browser.test_journeys import THROUGH, heading
from tests.support.processes import send, wait_until
from tests.support.servers import about, ask

PHONE = {"width": 390, "height": 844}


def a_link(wall, admin, name):
    """Create a link for the photos of the site `closed` in the console; return it."""
    enter(wall, admin, "/policies/sharelink/add/")
    ends = datetime.now(UTC) + timedelta(hours=4)
    admin.fill("#id_name", name)
    admin.select_option("#id_domain", label="closed.gate.test")
    admin.fill("#id_path_prefix", "/photos")
    admin.fill("#id_expires_at_0", f"{ends:%Y-%m-%d}")
    admin.fill("#id_expires_at_1", f"{ends:%H:%M:%S}")
    admin.click("[name=_save]")
    admin.locator("button[data-copy]").first.wait_for(state="attached")  # shown if scripts may write to the clipboard
    return admin.locator(".shown-once pre").first.inner_text()


def verdicts(wall, cookie):
    """Ask both planes with the cookie of a guest; return the statuses."""
    question = about(host="closed.gate.test", uri="/photos/7", Cookie=f"service.guest={cookie}")
    return [ask(port, question)[0] for port in (wall.control, wall.auth)]


def test_a_link_lets_a_guest_in_until_it_ends_or_is_revoked(wall, visit):
    admin = visit(viewport=PHONE)
    link = a_link(wall, admin, "Anna")
    assert link.startswith(wall.url("closed", "/wall/share?token=gws_"))

    guest = visit(java_script_enabled=False, viewport=PHONE)
    guest.goto(link)
    assert heading(guest) == "Shared with you"
    guest.click("main button")
    assert (guest.url, heading(guest)) == (wall.url("closed", "/photos"), THROUGH)
    assert guest.goto(wall.url("closed", "/")).url.startswith(wall.page("/"))  # not shared, so the sign-in page comes

    other = visit(java_script_enabled=False)
    assert other.goto(link).status == 410
    assert heading(other) == "This link does not work"

    links = send(wall.control, wall.token, "GET", "/share-links?all=true")["results"]
    [row] = [each for each in links if f"token={each['prefix']}" in link]  # other tests create an Anna too
    path = f"/policies/sharelink/{row['id']}/change/"
    wait_until(lambda: send(wall.control, wall.token, "GET", f"/share-links/{row['id']}")["hits"] > 0, what="the log")
    admin.goto(wall.page(f"/admin{path}"))
    assert "1 / 1" in admin.locator("#content").inner_text()
    admin.locator(".field-requests a").click()
    admin.locator("#content", has_text="/photos").wait_for()

    [cookie] = [each["value"] for each in guest.context.cookies() if each["name"] == "service.guest"]
    assert verdicts(wall, cookie) == [200, 200]
    soon = (datetime.now(UTC) + timedelta(seconds=1)).isoformat()
    send(wall.control, wall.token, "PUT", f"/share-links/{row['id']}", {"expires_at": soon})
    wait_until(lambda: verdicts(wall, cookie) == [401, 401], what="the end of the link")
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    send(wall.control, wall.token, "PUT", f"/share-links/{row['id']}", {"expires_at": later})
    guest.goto(wall.url("closed", "/photos/7"))
    assert heading(guest) == THROUGH

    send(wall.control, wall.token, "DELETE", f"/share-links/{row['id']}")
    assert verdicts(wall, cookie) == [401, 401]  # a write is answered after the policy is published
    assert guest.goto(wall.url("closed", "/photos/7")).url.startswith(wall.page("/"))


def test_a_user_without_access_enters_through_a_share_link(wall, visit):
    link = a_link(wall, visit(), "Tom")
    page = visit(java_script_enabled=False)
    page.goto(wall.url("closed", "/photos"))
    sign_in(page, wall.a_user(all_domains=False))
    assert heading(page) == "No entry"

    page.goto(link)
    page.click("main button")

    assert heading(page) == THROUGH
