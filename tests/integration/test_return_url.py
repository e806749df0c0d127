"""The return URL after sign-in: known open-redirect tricks do not work."""

import re
from html import unescape
from urllib.parse import urlencode

import pytest
from django.test import Client

from policies import services
from tests.support.proxies import PASSWORD

pytestmark = pytest.mark.django_db

HOSTILE = [
    "https://evil.example/",
    "http://evil.example",
    "HTTPS://evil.example/",
    "//evil.example/",
    "///evil.example/",
    "////evil.example/",
    "/\\evil.example/",
    "\\\\evil.example/",
    "\\/evil.example",
    "/",
    "/wall/",
    "relative",
    "https:evil.example",
    "https:/evil.example",
    "https:///evil.example",
    "https:\\\\evil.example",
    "https:/\\evil.example",
    "https://\\evil.example",
    "https://evil.example\\@office.example/",
    "https://evil.example\\.office.example/",
    "https://office.example@evil.example/",
    "https://office.example:443@evil.example/",
    "https://office.example%40evil.example/",
    "https://user@office.example/",
    "https://user:password@office.example/",
    "https://office.example.evil.example/",
    "https://evil-office.example/",
    "https://evilXoffice.example/",
    "https://officeXexample/",
    "https://office.example,evil.example/",
    "https://office.example;evil.example/",
    "https://office.example evil.example/",
    "https://office.example%2eevil.example/",
    "https://evil.example#office.example",
    "https://evil.example?office.example",
    "https://evil.example/office.example",
    "https://evil.example:80#@office.example/",
    "https://office.example:0/",
    "https://office.example:65536/",
    "https://office.example:port/",
    "https://office.example:/",
    "https://[office.example]/",
    "https://[::1/",
    "https://[::ffff:192.0.2.1]@office.example/",
    "https://0xc0000201/",
    "https://3221225985/",
    "https://evil\u3002example/",
    "https://evil\uff0eexample/",
    "https://office.example\u2044@evil.example/",
    "https://*.files.example/",
    "https://files.example/",
    " https://office.example/",
    "https://office.example/ ",
    "https://office.example/\r\nSet-Cookie: a=b",
    "https://office.example/\0",
    "https://office.example/\t",
    "ht\ntps://office.example/",
    "https://office.example/\x7f",
    'https://office.example/"><script>',
    "https://office.example/`",
    "https://office.example/{a}",
    "javascript:alert(1)",
    "javascript://office.example/%0aalert(1)",
    "JaVaScRiPt:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:msgbox(1)",
    "blob:https://office.example/",
    "file://office.example/etc/passwd",
    "ftp://office.example/",
    "ws://office.example/",
    "view-source:https://office.example/",
    "https://office.example/" + "a" * 4096,
    "https://",
    "https://.",
    "https://#",
    "http://http://office.example/",
]
GOOD = {
    "https://office.example/": "https://office.example/",
    "http://office.example": "http://office.example",
    "https://OFFICE.example/A": "https://office.example/A",
    "https://office.example.:8443/a?b#c": "https://office.example:8443/a?b#c",
    "https://office.example?next=//evil.example/": "https://office.example?next=//evil.example/",
    "https://office.example//evil.example": "https://office.example//evil.example",
    "https://a.files.example/": "https://a.files.example/",
    "https://bücher.example/": "https://xn--bcher-kva.example/",
    "http://wall.example/wall/": "http://wall.example/wall/",
    "http://[2001:DB8::1]:8080/": "http://[2001:db8::1]:8080/",
}


@pytest.fixture
def new_browser(bob, office):
    """Return a function that makes a browser without a session."""
    for name in ("*.files.example", "xn--bcher-kva.example", "[2001:db8::1]"):
        services.register_domain(actor="", name=name, access="authenticated", seed=True)
    return lambda: Client(headers={"Host": "wall.example"})


@pytest.fixture
def browser(new_browser):
    return new_browser()


def sign_in(browser, rd):
    form = urlencode({"username": "Bob", "password": PASSWORD, "rd": rd})
    return browser.post("/wall/", form, content_type="application/x-www-form-urlencoded").headers["Location"]


def offered(browser, rd):
    return unescape(re.search(r'name="rd" value="([^"]*)"', browser.get("/wall/", {"rd": rd}).text)[1])


def test_a_hostile_return_url_redirects_home(new_browser):
    assert {rd: way for rd in HOSTILE if (way := sign_in(new_browser(), rd)) != "/wall/"} == {}


def test_a_hostile_return_url_is_not_linked(new_browser):
    assert {rd: shown for rd in HOSTILE if (shown := offered(new_browser(), rd)) != ""} == {}


@pytest.mark.parametrize(("rd", "way"), GOOD.items())
def test_a_return_url_to_ourselves_or_a_registered_host_is_accepted(browser, rd, way):
    location = sign_in(browser, rd)

    assert location == way
    assert location.isascii()


@pytest.mark.parametrize("mode", ["any", "registered"])
def test_an_unregistered_host_is_refused_in_every_mode(browser, mode):
    from gatewall.policy import system_settings  # noqa: PLC0415

    system_settings.change(authorized_domains_mode=mode, actor="alice")

    assert sign_in(browser, "https://evil.example/") == "/wall/"


def test_with_a_public_url_the_host_of_the_request_is_not_ours(browser, settings):
    settings.GATEWALL_PUBLIC_URL = "https://guard.example"

    assert sign_in(browser, "https://guard.example/a") == "https://guard.example/a"
    assert sign_in(browser, "https://wall.example/a") == "/wall/"


def test_the_first_of_two_return_urls_is_checked_too(browser):
    page = browser.get("/wall/?rd=https://evil.example/&rd=https://office.example/").text

    assert "evil" not in page
