"""Complete journeys of visitors through the pages."""

import pytest

from gatewall.install.ports import free_port
from tests.browser.gallery import enrol
from tests.browser.installation import sign_in
from tests.support.processes import control_plane, nginx
from tests.support.upstream import Upstream

SCRIPTS = pytest.mark.parametrize(
    "scripts", [True, pytest.param(False, marks=pytest.mark.full)], ids=["with JavaScript", "without"]
)
THROUGH = "You are through"


def heading(page):
    return page.locator("h1").inner_text()


@SCRIPTS
def test_a_first_visit_enrols_a_factor_and_ends_on_the_requested_page(wall, visit, scripts):
    page, name = visit(java_script_enabled=scripts), wall.a_user()

    page.goto(wall.url("vault", "/papers?year=2026&q=a%20b"))
    assert page.url.startswith(wall.page("/?rd="))
    assert "vault.gate.test" in page.locator("main").inner_text()
    sign_in(page, name)
    assert heading(page) == "Set up a second factor"
    app = enrol(page)
    assert len(app.recovery_codes) == 10
    page.click("a.button:not(.quiet)")

    assert (page.url, heading(page)) == (wall.url("vault", "/papers?year=2026&q=a%20b"), THROUGH)
    assert name in page.locator("main").inner_text()


def test_a_second_visit_asks_for_a_code_and_ends_on_the_requested_page(wall, visit):
    page, name = visit(java_script_enabled=False), wall.a_user()
    page.goto(wall.url("vault"))
    sign_in(page, name)
    app = enrol(page)

    for code in (app.code(steps=1), app.recovery_codes[0]):
        page.context.clear_cookies()
        page.goto(wall.url("vault", "/deep/page?x=1"))
        sign_in(page, name)
        page.fill("#code", f" {code[:3]} {code[3:]} ")
        page.click("button:not([type=button])")

        assert (page.url, heading(page)) == (wall.url("vault", "/deep/page?x=1"), THROUGH)


def test_one_sign_in_serves_all_sites_until_one_requires_a_second_factor(wall, page):
    name = wall.a_user()
    page.goto(wall.url("office"))
    sign_in(page, name)
    page.goto(wall.url("closed"))
    assert heading(page) == THROUGH

    page.goto(wall.url("vault", "/papers"))
    app = enrol(page)
    page.goto(wall.url("vault", "/papers"))

    assert heading(page) == THROUGH
    assert len(app.recovery_codes) == 10


def test_recovery_codes_can_be_downloaded(wall, visit):
    page, name = visit(java_script_enabled=False), wall.a_user()
    page.goto(wall.url("vault"))
    sign_in(page, name)
    app = enrol(page)

    with page.expect_download() as download:
        page.click("a[download]")

    assert download.value.suggested_filename == f"recovery-codes-{name}.txt"
    assert download.value.path().read_text().split() == app.recovery_codes


def test_wrong_passwords_are_refused_and_too_many_cause_a_delay(wall, page):
    name = wall.a_user()
    page.goto(wall.url("office", "/a"))
    told = []
    for _ in range(11):
        sign_in(page, name, "wrong password")
        told.append(page.locator("[role=alert]").inner_text())
        assert page.input_value("#username") == name
        assert page.input_value("#password") == ""

    assert set(told[:10]) == {"The user name or the password is wrong."}
    assert told[10].startswith("Too many attempts. Please try again in ")
    assert page.locator("input[name=rd]").input_value() == wall.url("office", "/a")


def test_too_many_wrong_codes_restart_the_sign_in(wall, page):
    name = wall.a_user()
    page.goto(wall.url("vault"))
    sign_in(page, name)
    app = enrol(page)
    page.context.clear_cookies()
    page.goto(wall.url("vault", "/b"))
    sign_in(page, name)

    for code in app.wrong_codes(6):
        page.fill("#code", code)
        page.click("button:not([type=button])")

    assert "Please sign in again." in page.locator("[role=alert]").inner_text()
    sign_in(page, name)
    page.fill("#code", app.recovery_codes[1])
    page.click("button:not([type=button])")
    assert page.url == wall.url("vault", "/b")


def test_a_refused_user_may_sign_in_with_another_account(wall, page):
    guest, member = wall.a_user(all_domains=False, authorized_domains=["office.gate.test"]), wall.a_user()
    page.goto(wall.url("closed", "/c?d=e"))
    sign_in(page, guest)

    assert (page.url, heading(page)) == (wall.url("closed", "/c?d=e"), "No entry")
    assert len(page.locator("code").inner_text()) == 36
    page.click("text=Use another account")
    assert guest in page.locator("main").inner_text()
    page.click("text=Sign out")
    sign_in(page, member)

    assert (page.url, heading(page)) == (wall.url("closed", "/c?d=e"), THROUGH)


def test_signing_out_ends_access_everywhere(wall, visit):
    page, name = visit(java_script_enabled=False), wall.a_user()
    page.goto(wall.url("office"))
    sign_in(page, name)
    copied = visit(storage_state=page.context.storage_state())
    copied.goto(wall.url("closed"))
    assert heading(copied) == THROUGH

    page.goto(wall.page())
    page.click("text=Sign out")

    for window in (page, copied):
        for site in ("office", "closed"):
            window.goto(wall.url(site))
            assert window.url.startswith(wall.page("/?rd="))


def test_a_site_may_have_a_button_for_signing_out(wall, page):
    page.goto(wall.url("office"))
    sign_in(page, wall.a_user())

    page.click("text=Sign out")

    assert (page.url, heading(page)) == (wall.url("office", "/wall/sign-out"), "Signed out")
    page.click("text=To the start")
    assert page.url == wall.page()
    page.goto(wall.url("office"))
    assert page.url.startswith(wall.page("/?rd="))


def test_a_phone_can_be_signed_out_from_the_computer(wall, visit):
    page, phone, name = visit(), visit(user_agent="My phone"), wall.a_user()
    for window in (page, phone):
        window.goto(wall.url("office"))
        sign_in(window, name)

    page.goto(wall.page("/account"))
    page.get_by_role("button", name="End: My phone").click()

    assert page.locator("[role=status]").inner_text() == "That session is ended."
    phone.goto(wall.url("office"))
    assert phone.url.startswith(wall.page("/?rd="))
    page.goto(wall.url("office"))
    assert heading(page) == THROUGH


def test_users_set_up_and_remove_their_own_second_factor(wall, page):
    page.goto(wall.page())
    sign_in(page, wall.a_user())
    page.click("text=Your account")
    enrol(page)
    page.click("text=I have kept them")
    page.click("summary:has-text('Switch it off')")
    page.click("button:has-text('Switch off')")

    assert page.locator("[role=status]").inner_text() == "The second factor is off."


def test_without_a_host_of_our_own_the_pages_are_under_the_sites_host(wall, visit, tmp_path):
    page, name, gate = visit(java_script_enabled=False), wall.a_user(), free_port()
    with (
        Upstream() as site,
        control_plane(wall.home, gate, GATEWALL_WORKERS="1"),
        nginx(tmp_path, gate=gate, site=site.port) as port,
    ):
        page.goto(f"http://127.0.0.1:{port}/hello?x=1")
        assert page.url.startswith(f"http://127.0.0.1:{port}/wall/?rd=")
        sign_in(page, name)

        assert (page.url, page.locator("body").inner_text()) == (f"http://127.0.0.1:{port}/hello?x=1", "site")
        page.context.close()  # before the site ends, because it may still request an icon
