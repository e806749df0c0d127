"""Passkeys in Chromium, with its virtual authenticator (WebAuthn domain of the DevTools protocol), through nginx.

Browsers treat ``localhost`` as secure without TLS, so the guard page is under the host of the site.
"""

from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe

from gatewall.install.ports import free_port
from tests.browser.installation import sign_in
from tests.support.processes import PASSWORD, api, control_plane, nginx, prepare
from tests.support.upstream import Upstream

HOST = "app.localhost"
_NUMBERS = count(1)


@contextmanager
def virtual_authenticator(page, **options):
    """Add an authenticator like a phone's to the page; yield a function that sends it commands."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    wanted = {"protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True}
    wanted |= {"isUserVerified": True, "automaticPresenceSimulation": True, **options}
    made = session.send("WebAuthn.addVirtualAuthenticator", {"options": wanted})
    yield lambda command, **more: session.send(f"WebAuthn.{command}", {**made, **more})


@dataclass(frozen=True)
class Site:
    """A site behind nginx, with the guard page under its own host; ``/vault`` asks for a passkey."""

    url: str
    gate: int

    def a_user(self):
        name = f"visitor{next(_NUMBERS)}"
        api(self.gate, "/users", username=name, password=PASSWORD, current_password=PASSWORD)
        return name


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Yield a site with its own installation."""
    home, folder, gate = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("nginx"), free_port()
    prepare(home)
    with (
        Upstream() as upstream,
        control_plane(home, gate, GATEWALL_WORKERS="1", GATEWALL_PUBLIC_URL=""),
        nginx(folder, gate=gate, site=upstream.port) as port,
    ):
        api(gate, "/authorized-domains", name=HOST, access="authenticated")
        vault = [{"match": "prefix", "value": "/vault"}]
        api(gate, "/access-rules", name="vault", access="phishing_resistant", paths=vault)
        yield Site(f"http://{HOST}:{port}", gate)


def add_passkey(page, site, name):
    """Sign in with the password and add a passkey on the account page; return the recovery codes."""
    page.goto(f"{site.url}/hello")
    sign_in(page, name)
    page.wait_for_url(f"{site.url}/hello")
    page.goto(f"{site.url}/wall/account")
    page.fill("#passkey-name", "laptop")
    page.click("form[data-passkey=create] button")
    page.wait_for_selector("pre.codes")
    return page.locator("pre.codes").inner_text().split()


def test_a_passkey_signs_in_without_a_name_and_satisfies_phishing_resistance(visit, site):
    page, name = visit(), site.a_user()
    with virtual_authenticator(page) as authenticator:
        codes = add_passkey(page, site, name)
        assert len(codes) == 10
        assert len(authenticator("getCredentials")["credentials"]) == 1
        page.goto(f"{site.url}/vault")
        assert page.locator("body").inner_text() == "site"

        page.goto(f"{site.url}/wall/account")
        assert "laptop" in page.locator("main").inner_text()
        page.locator("form[action$='/sign-out'] button").last.click()
        page.goto(f"{site.url}/hello?x=1")
        page.click("form[data-passkey=get] button")

        page.wait_for_url(f"{site.url}/hello?x=1")
        page.goto(f"{site.url}/vault")
        assert page.locator("body").inner_text() == "site"


def test_a_passkey_is_the_second_factor_and_the_step_up(visit, site):
    page, name = visit(), site.a_user()
    with virtual_authenticator(page):
        codes = add_passkey(page, site, name)
        page.context.clear_cookies()
        page.goto(f"{site.url}/hello")
        sign_in(page, name)
        assert page.locator("h1").inner_text() == "Second factor"
        page.click("form[data-passkey=get] button")
        page.wait_for_url(f"{site.url}/hello")

        page.context.clear_cookies()
        page.goto(f"{site.url}/vault/deep")
        sign_in(page, name)
        page.fill("#code", codes[0])
        page.click("form[action$='/second-factor'] button")
        page.locator("h1", has_text="Passkey").wait_for()
        assert faults(page) == []
        page.click("form[data-passkey=get] button")

        page.wait_for_url(f"{site.url}/vault/deep")
        assert page.locator("body").inner_text() == "site"


def path_of(link):
    """Return the path of an admin's link, to open it under another host."""
    parts = urlsplit(link)
    return f"{parts.path}?{parts.query}"


def invited(site):
    """Invite a user without mail; return the link, under the host of the site."""
    name = f"visitor{next(_NUMBERS)}"
    made = api(site.gate, "/users", username=name, invite=True, current_password=PASSWORD)
    return site.url + path_of(made["invitation"]["link"])


@pytest.mark.parametrize("width", [360, 800])
def test_an_invitation_leads_to_a_passkey_and_a_protected_site_without_a_password(visit, site, width):
    page, link = visit(viewport={"width": width, "height": 740}), invited(site)
    with virtual_authenticator(page) as authenticator:
        page.goto(link)
        assert faults(page) == []
        page.fill("#passkey-name", "phone")
        page.click("form[data-passkey=create] button")
        page.wait_for_selector("pre.codes")
        page.goto(f"{site.url}/vault")
        assert page.locator("body").inner_text() == "site"
        page.goto(f"{site.url}/wall/account")
        assert "phone" in page.locator("main").inner_text()
        assert page.locator("#current").count() == 0
        assert faults(page) == []

        page.context.clear_cookies()
        page.goto(link)
        assert page.locator("h1").inner_text() == "This link does not work"
        page.goto(f"{site.url}/vault")
        page.click("form[data-passkey=get] button")
        page.wait_for_url(f"{site.url}/vault")
        [made] = authenticator("getCredentials")["credentials"]

    assert made["rpId"] == HOST


def test_a_new_password_is_set_with_a_passkey_or_a_code_on_one_page(visit, site):
    page, name = visit(), f"visitor{next(_NUMBERS)}"
    user = api(site.gate, "/users", username=name, password=PASSWORD, current_password=PASSWORD)
    with virtual_authenticator(page):
        codes = add_passkey(page, site, name)
        for number, how in enumerate(("data-scripted", "data-plain")):
            made = api(site.gate, f"/users/{user['id']}/password-reset", hand_over=True, password=PASSWORD)
            page.goto(site.url + path_of(made["link"]))
            assert faults(page) == []
            page.fill("#new", f"{PASSWORD} {number}")
            page.fill("#code", codes[0] if how == "data-plain" else "")
            page.click(f"button[{how}]")
            page.locator("h1", has_text="Your password is changed").wait_for()
        page.goto(f"{site.url}/hello")
        sign_in(page, name, f"{PASSWORD} 1")
        page.locator("h1", has_text="Second factor").wait_for()


def test_without_script_an_invitation_takes_a_password(visit, site):
    page = visit(java_script_enabled=False)
    page.goto(invited(site))
    assert not page.locator("form[data-passkey=create]").is_visible()
    page.fill("#new", f"{PASSWORD} mine")
    page.click("form[action$='/invitation'] button")

    assert page.locator("h1").inner_text() == "Signed in"


def faults(page):
    return [f"{found['id']}: {found['nodes'][0]['html'][:120]}" for found in Axe().run(page).response["violations"]]


def test_pages_with_passkeys_are_accessible_and_narrow(visit, site):
    page, name = visit(viewport={"width": 320, "height": 640}), site.a_user()
    with virtual_authenticator(page):
        page.goto(f"{site.url}/vault")
        found = faults(page)
        sign_in(page, name)
        page.locator("h1", has_text="Passkey").wait_for()
        found += faults(page)
        page.goto(f"{site.url}/wall/account")
        page.fill("#passkey-name", "laptop")
        page.click("form[data-passkey=create] button")
        page.wait_for_selector("pre.codes")
        page.goto(f"{site.url}/wall/account")
        page.locator("summary").first.click()
        found += faults(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.context.clear_cookies()
        page.goto(f"{site.url}/hello")
        sign_in(page, name)
        page.locator("h1", has_text="Second factor").wait_for()
        found += faults(page)

    assert found == []


def test_a_refusal_is_shown_on_the_page(visit, site):
    page, name = visit(), site.a_user()
    with virtual_authenticator(page) as authenticator:
        add_passkey(page, site, name)
        page.context.clear_cookies()
        authenticator("setUserVerified", isUserVerified=False)
        page.goto(f"{site.url}/hello")
        page.click("form[data-passkey=get] button")
        page.locator("form[data-passkey=get] [role=alert]").wait_for()
        assert "was not used" in page.locator("form[data-passkey=get] [role=alert]").inner_text()

        authenticator("setUserVerified", isUserVerified=True)
        [known] = authenticator("getCredentials")["credentials"]
        authenticator("clearCredentials")
        authenticator("addCredential", credential={**known, "signCount": 0})
        page.goto(f"{site.url}/hello")
        page.click("form[data-passkey=get] button")
        page.locator("#error").wait_for()
        assert "There may be a copy of this passkey" in page.locator("#error").inner_text()


def test_without_script_there_is_no_button_and_the_password_works(visit, site):
    page, name = visit(java_script_enabled=False), site.a_user()

    page.goto(f"{site.url}/hello")
    assert not page.locator("form[data-passkey=get]").is_visible()
    sign_in(page, name, PASSWORD)

    assert page.url == f"{site.url}/hello"
