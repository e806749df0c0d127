"""The guard page: sign-in, and a redirect to the return URL if it is safe."""

import re
from html import unescape
from urllib.parse import quote, urlencode

import pytest
from django.test import Client

from gatewall.policy import system_settings
from tests.support.proxies import PASSWORD, a_token

pytestmark = pytest.mark.django_db
FORM = "application/x-www-form-urlencoded"


@pytest.fixture
def browser(bob):
    return Client(enforce_csrf_checks=True, headers={"Host": "wall.example"})


def sign_out(browser, query="", form=""):
    return browser.post(f"/wall/sign-out{query}", form, content_type=FORM)


def sign_in(browser, rd="", **fields):
    form = urlencode({"username": "Bob", "password": PASSWORD, "rd": rd, **fields})
    return browser.post("/wall/", form, content_type=FORM)


def offered(response):
    """Return the return URL in the form of the page."""
    return unescape(re.search(r'name="rd" value="([^"]*)"', response.text)[1])


def form_action(response):
    policy = response.headers["Content-Security-Policy"]
    return re.search(r"form-action ([^;]*)", policy)[1].split()


def test_the_page_has_a_form_that_needs_no_script(browser):
    page = browser.get("/wall/")

    assert page.status_code == 200
    assert '<form method="post" action="/wall/">' in page.text
    assert re.search(r'name="password" type="password"', page.text)
    scripts = re.findall("<script[^>]*>", page.text)
    show = '<script src="/wall/static/portal/show-password.js" defer data-show="Show the password"'
    assert scripts[0].startswith(show)
    assert scripts[1:] == ['<script src="/wall/static/portal/passkey.js" defer>']


def test_the_page_forbids_caching_framing_and_sniffing(browser):
    headers = browser.get("/wall/").headers

    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "same-origin"
    assert headers["X-Request-Id"]


def test_the_page_has_a_strict_content_security_policy(browser):
    policy = browser.get("/wall/").headers["Content-Security-Policy"]

    assert "default-src 'none'" in policy
    assert "base-uri 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert "*" not in policy


def test_the_page_has_no_style_that_the_policy_forbids(browser):
    text = browser.get("/wall/").text

    assert "<style" not in text
    assert "style=" not in text
    assert not re.search(r"\son\w+=", text)


def test_the_style_sheet_of_the_page_is_there(browser):
    href = re.search(r'rel="stylesheet" href="([^"]+)"', browser.get("/wall/").text)[1]
    response = browser.get(href)

    assert response.status_code == 200
    assert b"".join(response).strip()


def test_the_message_and_the_contact_of_the_settings_are_shown_as_text(browser):
    system_settings.change(guard_message="Welcome <b>you</b>", contact="a&b", actor="alice")

    text = browser.get("/wall/").text

    assert "Welcome &lt;b&gt;you&lt;/b&gt;" in text
    assert "a&amp;b" in text


def test_a_sign_in_sets_the_cookie_and_redirects_home(browser):
    response = sign_in(browser)

    assert (response.status_code, response.headers["Location"]) == (303, "/wall/")
    assert response.cookies["service.token"].value


def test_a_sign_in_redirects_to_the_return_url(browser, office):
    response = sign_in(browser, "https://office.example:8443/a?b=c#d")

    assert (response.status_code, response.headers["Location"]) == (303, "https://office.example:8443/a?b=c#d")


def test_the_token_of_the_page_opens_the_gate_and_not_the_api(browser, auth):
    token = sign_in(browser).cookies["service.token"].value

    assert auth(cookie=f"service.token={token}").status == 200
    assert browser.get("/wall/users").status_code == 403


def test_the_token_is_in_no_url_and_no_page(browser, office):
    response = sign_in(browser, "https://office.example/")
    token = response.cookies["service.token"].value

    assert token not in response.headers["Location"]
    assert token not in browser.get("/wall/").text


@pytest.mark.parametrize(
    "fields", [{"password": "wrong"}, {"username": "nobody"}, {"username": "<b>"}, {"username": "a\0b"}], ids=repr
)
def test_a_wrong_sign_in_shows_the_page_again(browser, office, fields):
    response = sign_in(browser, "https://office.example/", **fields)

    assert response.status_code == 401
    assert "The user name or the password is wrong." in response.text
    assert offered(response) == "https://office.example/"
    assert "service.token" not in response.cookies
    assert "<b>" not in response.text.replace("<button>", "")


def test_a_wrong_sign_in_does_not_repeat_the_password(browser):
    assert "my other password" not in sign_in(browser, password="my other password").text


def test_a_sign_in_from_another_site_is_refused(browser, office):
    browser.defaults["HTTP_SEC_FETCH_SITE"] = "cross-site"

    response = sign_in(browser, "https://office.example/")

    assert response.status_code == 403
    assert "service.token" not in response.cookies
    assert "office.example" not in response.text


def test_a_form_over_one_mebibyte_is_too_large(browser):
    assert sign_in(browser, "x" * (1 << 20)).status_code == 413


def test_a_signed_in_visitor_is_greeted_with_a_link_to_the_site(browser, office):
    sign_in(browser)

    text = browser.get("/wall/", {"rd": "https://office.example/a"}).text

    assert "<strong>Bob</strong>" in text
    assert 'href="https://office.example/a"' in text


def test_a_signed_in_visitor_gets_no_link_to_a_hostile_return_url(browser):
    sign_in(browser)

    assert "evil" not in browser.get("/wall/", {"rd": "https://evil.example/"}).text


def test_signing_out_ends_the_session(browser, auth):
    token = sign_in(browser).cookies["service.token"].value

    response = sign_out(browser)

    assert (response.status_code, response.headers["Location"]) == (303, "/wall/")
    assert response.cookies["service.token"]["max-age"] == 0
    assert auth(cookie=f"service.token={token}").status == 401


def test_signing_out_twice_is_no_error(browser):
    sign_in(browser)

    assert [sign_out(browser).status_code for _ in range(2)] == [303, 303]


def test_another_site_cannot_sign_anybody_out(browser, auth):
    token = sign_in(browser).cookies["service.token"].value
    browser.defaults["HTTP_ORIGIN"] = "https://evil.example"

    assert sign_out(browser).status_code == 403
    assert auth(cookie=f"service.token={token}").status == 200


def test_signing_out_ignores_a_hostile_return_url(browser):
    response = sign_out(browser, "?rd=https://evil.example/", "rd=https://evil.example/")

    assert response.headers["Location"] == "/wall/"


def test_signing_out_is_a_post(browser):
    assert browser.get("/wall/sign-out").status_code == 405


def test_an_invalid_cookie_shows_the_sign_in_form(browser):
    browser.cookies["service.token"] = "no.good.token"

    assert "<form" in browser.get("/wall/").text


def test_a_sign_in_gives_another_token_each_time(browser, bob):
    browser.cookies["service.token"] = old = a_token(bob)

    assert sign_in(browser).cookies["service.token"].value != old


def test_the_csp_allows_forms_to_redirect_to_the_return_url(browser, office):
    page = browser.get("/wall/", {"rd": "https://office.example:8443/a"})

    assert form_action(page) == ["'self'", "https://office.example:8443"]


def test_without_a_return_url_the_csp_allows_forms_to_ourselves_alone(browser):
    assert form_action(browser.get("/wall/")) == ["'self'"]


def test_the_page_is_in_chinese_for_a_chinese_browser(browser):
    page = browser.get("/wall/", headers={"Accept-Language": "zh-CN,zh;q=0.9"})

    assert page.status_code == 200
    assert page.headers["Content-Language"] == "zh-hans"


def test_the_form_keeps_the_return_url_unchanged(browser, office):
    wanted = "https://office.example/a%20b?c=" + quote("https://evil.example/", safe="")

    assert offered(browser.get("/wall/", {"rd": wanted})) == wanted


@pytest.mark.parametrize("media_type", ["multipart/form-data; boundary=x", "text/plain", "application/json", ""])
def test_the_form_is_accepted_only_as_form_data(browser, media_type):
    form = urlencode({"username": "Bob", "password": PASSWORD})

    response = browser.generic("POST", "/wall/", form, content_type=media_type)

    assert (response.status_code, response.json()["code"]) == (415, "unsupported-media-type")
    assert "service.token" not in response.cookies


@pytest.mark.parametrize("query", ["", "?rd=https%3A%2F%2Foffice.example%2F"])
def test_the_path_without_its_slash_redirects_to_the_page(browser, query):
    response = browser.get(f"/wall{query}")

    assert (response.status_code, response.headers["Location"]) == (308, f"/wall/{query}")
