"""Notices of the guard page when a visitor cannot go on: no redirect loop, one clear sentence, no hostile link."""

import re
from html import unescape
from urllib.parse import quote, urlencode

import pytest
from django.test import Client

from policies import services
from policies.models import AuthorizedDomain
from tests.support.proxies import PASSWORD, a_token
from tests.support.second_factor import an_app

pytestmark = pytest.mark.django_db
HOME = "https://wall.example.com"
FORM = "application/x-www-form-urlencoded"
UNREACHED = (
    "You are signed in here, but app.example.org cannot see it because browsers send a cookie of wall.example.com only "
    "to hosts below example.com."
)
REMEDY = (
    "For administrators: Add a guard page under example.org: "
    "GATEWALL_PUBLIC_URL=https://wall.example.com,https://wall.example.org"
)
NOT_REGISTERED = "The site that you came from is not registered here, so Gatewall cannot lead you back to it."
SENT_BACK = "app.example.com sent you back. Its proxy must pass the Cookie header on to Gatewall"
LOST = "Your browser sent no cookie back, so you would not stay signed in."
STRIPPED = "the session cookie did not arrive here"


@pytest.fixture(autouse=True)
def sites(settings, alice, bob):
    settings.GATEWALL_PUBLIC_URL = HOME
    for name in ("app.example.com", "tv.example.com", "app.example.org"):
        services.register_domain(actor="alice", name=name, access="authenticated")
    return settings


@pytest.fixture
def browser():
    return Client(headers={"Host": "wall.example.com"})


def words(response):
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", response.text)))


def sign_in(browser, rd="", name="Bob", **fields):
    form = urlencode({"username": name, "password": PASSWORD, "rd": rd, **fields})
    return browser.post("/wall/", form, content_type=FORM, headers={"Origin": HOME})


def guard(browser, rd=""):
    return browser.get("/wall/", {"rd": rd} if rd else {})


def test_a_site_that_the_cookie_reaches_is_entered_at_once(browser):
    answer = sign_in(browser, "https://app.example.com/a?b=c")

    assert answer.headers["Location"] == "https://app.example.com/a?b=c"
    assert answer.cookies["service.token"]["domain"] == "example.com"


def test_a_site_that_the_cookie_does_not_reach_is_explained_without_a_redirect_loop(browser):
    rd = "https://app.example.org/a"

    answer = sign_in(browser, rd)
    assert answer.headers["Location"] == f"/wall/?rd={quote(rd, safe='')}"
    page = browser.get(answer.headers["Location"])

    assert UNREACHED in words(page)
    assert f'href="{rd}"' not in page.text
    assert REMEDY not in words(page)


def test_an_administrator_sees_how_to_fix_the_cookie_domain(browser):
    sign_in(browser, name="alice")

    assert REMEDY in words(guard(browser, "https://app.example.org/"))


def test_the_notice_is_translated(browser):
    sign_in(browser)

    page = browser.get("/wall/", {"rd": "https://app.example.org/"}, headers={"Accept-Language": "zh-Hans"})

    assert "浏览器只把 wall.example.com 的 Cookie 发送给 example.com 之下的主机" in words(page)


@pytest.mark.parametrize("rd", ["", "https://app.example.org/"])
def test_signing_out_redirects_to_the_guard_page_that_was_open(sites, rd):
    sites.GATEWALL_OTHER_PUBLIC_URLS = ("https://wall.example.org",)
    there, origin = Client(headers={"Host": "wall.example.org"}), {"Origin": "https://wall.example.org"}

    answer = there.post("/wall/sign-out", urlencode({"rd": rd}), content_type=FORM, headers=origin)

    assert answer.status_code == 303
    assert answer.headers["Location"].startswith("https://wall.example.org/wall/")


@pytest.mark.parametrize("host", ["app.example.org", "10.0.0.5:9999", "wall.example.com:8443"])
def test_a_host_without_a_guard_page_is_not_redirected(sites, host):
    """Gatewall sees the host that the proxy sends; a redirect by that host could be a loop."""
    sites.GATEWALL_OTHER_PUBLIC_URLS = ("https://wall.example.org",)

    assert guard(Client(headers={"Host": host}), "https://app.example.org/").status_code == 200


def test_a_new_domain_widens_the_cookie_of_a_signed_in_visitor(browser, sites):
    sites.GATEWALL_PUBLIC_URL = "https://wall.a.example.com"
    services.register_domain(actor="alice", name="app.a.example.com", access="authenticated")
    sites.GATEWALL_COOKIE_DOMAIN = "a.example.com"
    browser = Client(headers={"Host": "wall.a.example.com"})
    token = browser.cookies["service.token"] = a_token_of(browser)
    sites.GATEWALL_COOKIE_DOMAIN = None

    page = guard(browser, "https://tv.example.com/")

    cookie = page.cookies["service.token"]
    assert (cookie.value, cookie["domain"]) == (token, "example.com")
    assert 'href="https://tv.example.com/"' in page.text


def a_token_of(browser):
    form = urlencode({"username": "Bob", "password": PASSWORD, "rd": ""})
    origin = {"Origin": "https://wall.a.example.com"}
    return browser.post("/wall/", form, content_type=FORM, headers=origin).cookies["service.token"].value


def test_a_visitor_that_the_site_sent_back_reads_the_reason(browser):
    rd = "https://app.example.com/a"
    sign_in(browser, rd)

    assert SENT_BACK in words(guard(browser, rd))
    assert f'href="{rd}"' in guard(browser, rd).text
    assert SENT_BACK not in words(guard(browser, "https://tv.example.com/"))


def test_a_site_without_tls_does_not_get_a_cookie_that_needs_it(browser):
    rd = "http://app.example.com/"
    sign_in(browser, rd)

    assert "browsers send the session cookie only over https://" in words(guard(browser, rd))


def test_a_visitor_with_an_earlier_session_sees_no_warning(browser, bob):
    browser.cookies["service.token"] = a_token(bob)

    page = words(guard(browser, "https://app.example.com/"))

    assert "Continue to app.example.com" in page
    assert SENT_BACK not in page


@pytest.mark.parametrize("rd", ["", "https://app.example.com/"])
def test_a_session_cookie_that_is_removed_on_its_way_is_named(browser, rd):
    sign_in(browser, rd)
    del browser.cookies["service.token"]

    assert STRIPPED in words(guard(browser, rd))


def test_signing_out_shows_no_warning_about_a_lost_cookie(browser):
    sign_in(browser)
    browser.post("/wall/sign-out", "", content_type=FORM, headers={"Origin": HOME})

    assert STRIPPED not in words(guard(browser))


def test_a_browser_that_drops_the_probe_cookie_gets_an_error_instead_of_a_session(browser):
    field = re.search(r'name="(probe)" value="(\w+)"', guard(browser).text)
    assert sign_in(browser, **{field[1]: field[2]}).status_code == 303
    browser.cookies.clear()

    answer = sign_in(browser, **{field[1]: field[2]})

    assert answer.status_code == 400
    assert LOST in words(answer)
    assert "service.token" not in answer.cookies
    assert answer.cookies["gatewall.probe"]["secure"]
    assert sign_in(browser, **{field[1]: field[2]}).status_code == 303  # the page set the cookie again


def test_a_program_without_the_page_signs_in_without_cookies(browser):
    assert sign_in(browser).status_code == 303


def test_an_unregistered_site_is_reported_without_its_name(browser, bob):
    rd = "https://shop.evil.example/a"

    for page in (guard(browser, rd), sign_in(browser, rd, password="wrong")):
        assert NOT_REGISTERED in words(page)
        assert "evil" not in page.text
    browser.cookies["service.token"] = a_token(bob)
    page = guard(browser, rd)
    assert NOT_REGISTERED in words(page)
    assert "evil" not in page.text


def test_an_administrator_may_register_it(browser):
    sign_in(browser, name="alice")

    page = guard(browser, "https://shop.example.net:8443/a").text

    assert 'href="https://wall.example.com/wall/admin/policies/authorizeddomain/add/?name=shop.example.net"' in page
    assert "Register shop.example.net" in page
    assert "https://shop.example.net" not in page


@pytest.mark.parametrize("rd", ["", "https://user@evil.example/", "javascript:alert(1)", "https://wall.example.com/a"])
def test_without_a_site_in_the_return_url_no_warning_is_shown(browser, rd):
    assert NOT_REGISTERED not in words(guard(browser, rd))


def test_before_the_first_site_an_administrator_gets_a_link_to_register_one(browser, alice, bob):
    for domain in AuthorizedDomain.objects.all():
        services.remove_domain(domain, actor="alice", force=True)
    browser.cookies["service.token"] = a_token(alice)

    assert 'href="https://wall.example.com/wall/administration">Register a site</a>' in guard(browser).text
    browser.cookies["service.token"] = a_token(bob)
    assert "Register" not in guard(browser).text


def test_a_wrong_code_shows_the_clock_of_the_server(browser, bob):
    wrong = an_app(bob).wrong
    page = sign_in(browser)
    assert "clock" not in page.text
    form = {"challenge": re.search(r'name="challenge" value="([^"]*)"', page.text)[1], "code": wrong}

    answer = browser.post("/wall/second-factor", urlencode(form), content_type=FORM, headers={"Origin": HOME})

    assert re.search(r"The clock of this server shows \d\d:\d\d UTC", words(answer))
