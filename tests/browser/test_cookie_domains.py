"""Sign-in ends on the site or with an explanation, never in a loop: one host, one parent domain, two parents."""

import re
from contextlib import contextmanager
from urllib.parse import quote

import pytest

from gatewall.install.ports import free_port
from gatewall.kernel.cookie_domain import registrable_domain
from tests.browser.installation import OTHER, SUFFIX, sign_in
from tests.support.processes import control_plane, nginx
from tests.support.upstream import Upstream

UNREACHED = "cannot see it because browsers send a cookie of wall.gate.test only to hosts below gate.test"


def heading(page):
    return page.locator("h1").inner_text()


def text(page):
    return re.sub(r"\s+", " ", page.locator("main").inner_text())


def session_cookies(page):
    return {each["domain"] for each in page.context.cookies() if each["name"] == "service.token"}


def landings(page):
    """Return a list of the pages loaded in this window."""
    loaded = []
    page.on("response", lambda answer: loaded.append(answer.url) if answer.request.is_navigation_request() else None)
    return loaded


def test_the_test_domains_are_two_registrable_domains():
    assert {registrable_domain(f"wall.{parent}") for parent in (SUFFIX, OTHER)} == {SUFFIX, OTHER}


def test_one_sign_in_serves_every_site_under_the_parent(wall, page):
    page.goto(wall.url("office", "/a?b=c"))
    sign_in(page, wall.a_user())

    assert page.url == wall.url("office", "/a?b=c")
    assert session_cookies(page) == {".gate.test"}
    page.goto(wall.url("closed"))
    assert page.url == wall.url("closed")


def test_one_sign_in_at_home_serves_a_site_under_another_parent(wall, page):
    page.goto(wall.at("app.other.test", "/x"))
    assert page.url.startswith(wall.page("/?rd="))
    sign_in(page, wall.a_user())
    page.wait_for_url(wall.at("app.other.test", "/x"))

    assert session_cookies(page) == {".gate.test", ".other.test"}
    for address in (wall.url("office"), wall.at("tv.other.test")):
        page.goto(address)
        assert page.url == address


def test_a_link_to_the_wrong_guard_page_still_ends_on_the_site(wall, page):
    page.goto(wall.page(f"/?rd={quote(wall.at('app.other.test'), safe='')}"))
    sign_in(page, wall.a_user())

    page.wait_for_url(wall.at("app.other.test"))
    assert heading(page) == "You are through"


def test_sign_in_for_a_site_that_no_cookie_reaches_ends_with_an_explanation(wall, page):
    loaded = landings(page)
    page.goto(wall.at("app.third.test", "/x"))
    assert page.url.startswith(wall.page("/?rd="))

    sign_in(page, wall.a_user())

    assert heading(page) == "Signed in"
    assert UNREACHED in text(page)
    assert page.locator("a", has_text="Continue").count() == 0
    assert len(loaded) == 4, loaded  # the site, the guard page, the form, the sentence


@pytest.mark.parametrize("signed_in", [False, True])
def test_the_guard_page_reports_an_unregistered_site(wall, page, signed_in):
    if signed_in:
        page.goto(wall.page())
        sign_in(page, wall.a_user())

    page.goto(wall.page(f"/?rd={quote(wall.at('nobody.third.test'), safe='')}"))

    assert "The site that you came from is not registered here" in text(page)


def test_a_browser_without_cookies_gets_an_explanation_and_may_try_again(wall, page):
    name = wall.a_user()
    page.goto(wall.page())
    page.context.clear_cookies()

    sign_in(page, name)

    assert "Your browser sent no cookie back" in text(page)
    assert session_cookies(page) == set()
    sign_in(page, name)
    assert heading(page) == "Signed in"


@contextmanager
def behind(wall, folder, host, **nginx_options):
    """Run nginx before Gatewall for a host with its own guard page; yield its address."""
    gate = free_port()
    with Upstream() as site, nginx(folder, gate=gate, site=site.port, **nginx_options) as port:
        address = f"http://{host}:{port}"
        with control_plane(wall.home, gate, GATEWALL_PUBLIC_URL=address, GATEWALL_WORKERS="1"):
            yield address


def test_one_host_for_the_site_and_the_guard_page(wall, visit, tmp_path):
    page = visit()
    with behind(wall, tmp_path, "app.third.test") as address:
        page.goto(f"{address}/hello?x=1")
        assert page.url.startswith(f"{address}/wall/?rd=")
        sign_in(page, wall.a_user())

        assert (page.url, page.locator("body").inner_text()) == (f"{address}/hello?x=1", "site")
        assert session_cookies(page) == {"app.third.test"}  # without a dot: only for this host
        page.context.close()


def test_a_proxy_that_removes_cookies_is_named_before_the_password_is_checked(wall, visit, tmp_path):
    page = visit()
    with behind(wall, tmp_path, "app.third.test", extra="proxy_hide_header Set-Cookie;") as address:
        page.goto(f"{address}/hello")
        sign_in(page, wall.a_user())

        assert "the proxy in front of Gatewall removes the header Cookie or Set-Cookie" in text(page)
        assert page.context.cookies() == []
        page.context.close()


def test_the_guard_page_reports_a_proxy_that_drops_the_session_cookie(wall, page):
    """If the proxy does not pass the cookie on, the site sends the visitor back to the guard page."""
    page.goto(wall.url("office"))
    sign_in(page, wall.a_user())

    page.goto(wall.page(f"/?rd={quote(wall.url('office'), safe='')}"))

    assert "sent you back. Its proxy must pass the Cookie header on" in text(page)
