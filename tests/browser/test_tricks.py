"""Attacks on our pages, in a real browser."""

from urllib.parse import quote

import pytest

from tests.browser.installation import sign_in
from tests.support.processes import PASSWORD
from tests.support.visitor import HOSTILE

SEND = """async ([path, policy]) => (await fetch(path, {
    method: "POST", referrerPolicy: policy, body: new URLSearchParams({name: "stolen", days: "30"}),
})).status"""


def test_a_hostile_redirect_parameter_adds_no_foreign_link(wall, page):
    page.goto(wall.page())
    sign_in(page, wall.a_user())
    for rd in HOSTILE:
        page.goto(wall.page(f"/?rd={quote(rd)}"))

        hosts = page.evaluate("[...document.links].map(link => link.host)")
        assert set(hosts) == {f"wall.gate.test:{wall.port}"}


def test_signing_in_with_a_hostile_redirect_parameter_stays_on_our_host(wall, page):
    name = wall.a_user()
    for rd in HOSTILE[:3]:
        page.context.clear_cookies()
        page.goto(wall.page(f"/?rd={quote(rd)}"))
        sign_in(page, name)

        assert page.url == wall.page()


@pytest.mark.parametrize("policy", ["", "no-referrer"])
def test_a_script_of_a_protected_site_makes_no_git_token(wall, visit, policy):
    """Our pages under the site's own host share the site's origin."""
    page = visit(bypass_csp=True)  # a site without a content security policy
    page.goto(wall.url("office"))
    sign_in(page, wall.a_user())

    assert page.evaluate(SEND, ["/wall/account/git-tokens", policy]) == 403
    assert page.evaluate(SEND, ["/wall/account/sessions/end-all", policy]) == 403
    page.goto(wall.page("/account"))
    assert "stolen" not in page.content()


def test_a_form_of_another_site_changes_nothing(wall, visit):
    page = visit(bypass_csp=True)
    page.goto(wall.url("office"))
    sign_in(page, wall.a_user())
    page.evaluate(
        """url => { document.body.innerHTML = `<form method="post" action="${url}"><button>x</button></form>`; }""",
        wall.page("/account/sessions/end-all"),
    )
    page.click("button:not([type=button])")

    assert "Another site sent this form." in page.locator("[role=alert]").inner_text()
    page.goto(wall.url("office"))
    assert page.locator("h1").inner_text() == "You are through"


def test_scripts_cannot_read_the_session(wall, page):
    page.goto(wall.url("office"))
    sign_in(page, wall.a_user())

    assert page.evaluate("document.cookie") == ""
    (cookie,) = [each for each in page.context.cookies() if each["name"] == "service.token"]
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["domain"]) == (True, "Lax", ".gate.test")


def test_the_typed_name_is_escaped(wall, page):
    page.goto(wall.page())
    sign_in(page, '"><img src=x onerror=alert(1)>', PASSWORD)

    assert page.input_value("#username") == '"><img src=x onerror=alert(1)>'
    assert page.locator("img").count() == 0
