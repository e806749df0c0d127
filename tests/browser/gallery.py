"""A walk through every page that a visitor can see: for pictures, and for checks that hold on each."""

import io
from collections.abc import Iterator

import zxingcpp
from PIL import Image
from playwright.sync_api import Page

from tests.browser.installation import Wall, sign_in
from tests.support.openid_provider import OpenIdProvider
from tests.support.processes import PASSWORD, wait_until
from tests.support.second_factor import App, secret_of
from tests.support.servers import about, ask

QR_CODES = zxingcpp.BarcodeFormats(zxingcpp.BarcodeFormat.QRCode)
"""Without this limit, zxing finds other barcodes in the squares of a QR code."""


def scan(page: Page) -> App:
    """Read the secret from the QR code, like an authenticator app."""
    picture = Image.open(io.BytesIO(page.locator(".qr").screenshot()))
    (code,) = zxingcpp.read_barcodes(picture, formats=QR_CODES)
    app = App(secret_of(code.text.partition("secret=")[2].partition("&")[0]))
    assert app.secret == secret_of(page.locator(".secret").inner_text().replace(" ", ""))
    return app


def enrol(page: Page) -> App:
    """Set up an authenticator app, from the enrolment page to the recovery codes."""
    page.click("form[action$='/enrol'] button")
    app = scan(page)
    page.fill("#code", app.code())
    page.click("form[action$='/confirm'] button")
    app.recovery_codes = page.locator("pre").inner_text().split()
    return app


def a_guest(wall: Wall) -> str:
    """Create a user who may enter the sites of ``first_visit``; return the name."""
    return wall.a_user(all_domains=False, authorized_domains=["vault.gate.test", "safe.gate.test"])


def first_visit(wall: Wall, page: Page, name: str) -> Iterator[str]:
    """Go from a site that requires two factors through sign-in to the site; yield a name for each page."""
    page.goto(wall.url("vault", "/papers?year=2026"))
    yield "sign-in"
    sign_in(page, name, "wrong password")
    yield "sign-in-wrong"
    sign_in(page, name)
    yield "enrol"
    page.click("form[action$='/enrol'] button")
    app = scan(page)
    yield "set-up"
    page.fill("#code", app.wrong)
    page.click("form[action$='/confirm'] button")
    yield "set-up-wrong"
    page.fill("#code", app.code())
    page.click("form[action$='/confirm'] button")
    app.recovery_codes = page.locator("pre").inner_text().split()
    yield "recovery-codes"
    yield from _second_visit(wall, page, name, app)


def _second_visit(wall: Wall, page: Page, name: str, app: App) -> Iterator[str]:
    page.context.clear_cookies()
    page.goto(wall.url("vault", "/papers"))
    sign_in(page, name)
    yield "second-factor"
    page.fill("#code", app.wrong)
    page.click("button:not([type=button])")
    yield "second-factor-wrong"
    page.fill("#code", app.recovery_codes[0])
    page.check("[name=remember]")
    page.click("button:not([type=button])")
    page.goto(wall.page())
    yield "signed-in"
    page.goto(wall.page(f"/?rd={wall.at('app.third.test')}"))
    yield "signed-in-unreached"
    page.goto(wall.page(f"/?rd={wall.at('nobody.third.test')}"))
    yield "signed-in-not-registered"
    page.goto(wall.url("safe"))
    yield "passkey-required"
    yield from _own_account(wall, page)
    page.goto(wall.url("closed"))
    yield "denied"
    page.click("text=Ask for access")
    page.wait_for_selector("#reason")
    yield "ask"
    page.fill("#reason", "the wedding photos")
    page.click("main form button")
    yield "ask-pending"
    page.goto(wall.url("nowhere"))
    yield "denied-unknown"
    yield from _by_mail(wall, page, name)


def _by_mail(wall: Wall, page: Page, name: str) -> Iterator[str]:
    """Reset a forgotten password and accept an invitation; the user has a second factor."""
    page.context.clear_cookies()
    page.goto(wall.page("/password/forgot"))
    yield "forgot"
    page.fill("#account", name)
    page.click("button:not([type=button])")
    yield "forgot-sent"
    page.goto(wall.link_for(name))
    yield "new-password"
    page.fill("#new", f"{PASSWORD} 2")
    page.fill("#code", "000 000")
    page.click("button:not([type=button])")
    yield "new-password-wrong"
    page.goto(wall.page("/password/new?token=gwi_used"))
    yield "link-over"
    page.goto(wall.an_invited_user()[1])
    yield "invitation"
    page.goto(wall.share_link(path_prefix="/wedding"))
    yield "share"
    page.goto(wall.url("closed", "/wall/share?token=gws_over"))
    yield "share-over"


def _own_account(wall: Wall, page: Page) -> Iterator[str]:
    page.goto(wall.page("/account"))
    yield "account"
    for summary in page.locator("summary").all():
        summary.click()
    yield "account-open"
    ask(wall.auth, about(client="127.0.0.1", host="vault.gate.test", User_Agent="Kodi/20.2"))
    page.goto(wall.page("/account/devices"))
    wait_until(
        lambda: page.reload() and page.locator("summary", has_text="Kodi").count(), what="the refusal in the log"
    )
    page.locator("summary", has_text="Kodi").first.click()
    yield "devices"
    page.goto(wall.page("/account"))
    for summary in page.locator("summary").all():
        summary.click()
    page.fill("#name", "laptop")
    page.click("form[action$='/git-tokens'] button")
    yield "account-git-token"
    page.locator("summary", has_text="app token").click()
    page.fill("#app-name", "calendar")
    page.fill("#app-path", "/remote.php/dav")
    page.click("form[action$='/app-tokens'] button")
    yield "account-app-token"
    page.locator("summary", has_text="password").click()
    page.fill("#current", "wrong password")
    page.fill("#new", PASSWORD)
    page.click("form[action$='/password'] button")
    yield "account-wrong"


def provider_visit(wall: Wall, page: Page, provider: OpenIdProvider) -> Iterator[str]:
    """Go from a site to an identity provider and back, to the account page, and out; yield a name for each page."""
    page.goto(wall.url("office", "/plans?year=2026"))
    yield "sign-in-provider"
    page.click("text=Sign in with Corp")
    assert page.url == wall.url("office", "/plans?year=2026")
    page.goto(wall.page("/account"))
    yield "account-identities"
    page.click("form[action$='/sign-out'] button")
    yield "signed-out-at-provider"
    provider.in_token = {"aud": "another"}
    page.goto(wall.url("office"))
    page.click("text=Sign in with Corp")
    yield "not-signed-in"
    provider.in_token = {}
    page.goto(wall.url("office"))
    sign_in(page, wall.a_user())
    page.goto(wall.page("/account"))
    page.click("button[aria-label='Link: Corp']")
    yield "link-identity"
