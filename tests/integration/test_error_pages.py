"""Errors as pages for browsers and as problem documents for other clients."""

from contextlib import closing
from http import HTTPStatus

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError, connection
from django.test import Client

from accounts.tokens import GATE
from gatewall.kernel.request_bodies import MAX_BODY
from gatewall.portal import guard_views
from tests.support.proxies import a_token

pytestmark = pytest.mark.django_db
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture
def browser():
    return Client(headers={"Host": "wall.example", **BROWSER})


def fails_with(error):
    def fail(*_):
        raise error

    return fail


def kind(response):
    return response.headers["Content-Type"].partition(";")[0]


@pytest.mark.parametrize("path", ["/wall/nothing", "/nothing", "/wall/users/x/y"])
def test_an_unknown_path_is_a_page_with_a_link_to_the_guard_page(browser, path):
    page = browser.get(path)

    assert (page.status_code, kind(page)) == (404, "text/html")
    assert 'href="/wall/"' in page.text
    assert "nothing" not in page.text
    assert page.headers["Cache-Control"] == "no-store"
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert page.headers["Referrer-Policy"] == "same-origin"


def test_an_admin_page_of_the_api_links_to_the_sign_in(browser):
    page = browser.get("/wall/docs?a=b")

    assert (page.status_code, kind(page)) == (401, "text/html")
    assert 'href="/wall/admin/login/?next=%2Fwall%2Fdocs%3Fa%3Db"' in page.text
    assert page.headers["WWW-Authenticate"]


def test_a_page_of_the_api_is_refused_in_the_language_of_the_browser(browser):
    page = browser.get("/wall/docs", headers={**BROWSER, "Accept-Language": "zh-CN"})

    assert "请先登录" in page.text
    assert (page.headers["Content-Language"], page.headers["Vary"]) == ("zh-hans", "Accept-Language")


def test_a_gate_session_gets_a_link_to_the_administration_page(browser, alice):
    browser.cookies["service.token"] = a_token(alice, audiences=[GATE])
    page = browser.get("/wall/docs")

    assert (page.status_code, kind(page)) == (403, "text/html")
    assert 'href="/wall/administration"' in page.text


@pytest.mark.parametrize(
    ("host", "home"),
    [
        ("app.example.com", "https://wall.example.com"),
        ("app.example.org", "https://wall.example.org"),
        ("wall.example.org", "https://wall.example.org"),
        ("127.0.0.1:9999", "https://wall.example.com"),
        ("a..b", "https://wall.example.com"),
    ],
)
def test_no_page_under_the_host_of_a_site_asks_for_the_password_of_an_admin(browser, alice, settings, host, home):
    settings.GATEWALL_PUBLIC_URL = "https://wall.example.com"
    settings.GATEWALL_OTHER_PUBLIC_URLS = ("https://wall.example.org",)
    headers = {**BROWSER, "Host": host}

    assert f'href="{home}/wall/admin/login/?next=%2Fwall%2Fdocs"' in browser.get("/wall/docs", headers=headers).text
    assert f'href="{home}/wall/"' in browser.get("/wall/nothing", headers=headers).text
    browser.cookies["service.token"] = a_token(alice, audiences=[GATE])
    assert f'href="{home}/wall/administration"' in browser.get("/wall/docs", headers=headers).text


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Accept": "*/*"},
        {**BROWSER, "Sec-Fetch-Mode": "cors"},
        {**BROWSER, "Sec-Fetch-Mode": "no-cors"},
    ],
)
@pytest.mark.parametrize(("path", "status"), [("/wall/nothing", 404), ("/wall/docs", 401)])
def test_programs_get_problem_documents(headers, path, status):
    answer = Client().get(path, headers=headers)

    assert (answer.status_code, kind(answer)) == (status, "application/problem+json")
    assert answer.json()["status"] == status


def test_a_form_that_a_browser_sends_to_nowhere_gets_a_page(browser):
    page = browser.post("/wall/nothing")

    assert (page.status_code, kind(page)) == (404, "text/html")
    assert kind(Client().post("/wall/nothing")) == "application/problem+json"


@pytest.mark.parametrize("path", ["/wall/login", "/wall/admin/import/", "/wall/nothing"])
def test_an_upload_that_is_too_large_is_a_page_with_the_limit(browser, path):
    page = browser.post(path, {"file": SimpleUploadedFile("list.txt", b"\n" * MAX_BODY)})

    assert (page.status_code, kind(page)) == (413, "text/html")
    assert "This is too large" in page.text
    assert "At most 1 MiB" in page.text
    assert page.headers["Content-Language"] == "en"
    sent = Client().post(path, b" " * (MAX_BODY + 1), "application/json")
    assert kind(sent) == "application/problem+json"


def test_without_the_database_a_browser_gets_a_translated_503_page(browser, monkeypatch):
    browser.raise_request_exception = False
    monkeypatch.setattr(guard_views.Guard, "get", fails_with(OperationalError("gone")))
    with connection.execute_wrapper(fails_with(OperationalError("no page may need it"))):
        page = browser.get("/wall/", headers={**BROWSER, "Accept-Language": "zh-CN"})

    assert (page.status_code, kind(page), page.headers["Retry-After"]) == (503, "text/html", "5")
    assert "数据库没有响应" in page.text
    assert "gone" not in page.text
    assert kind(browser.get("/wall/", headers={"Accept": "*/*"})) == "application/problem+json"


def test_a_browser_that_meets_a_bug_gets_a_page_without_its_details(browser, monkeypatch):
    browser.raise_request_exception = False
    monkeypatch.setattr(guard_views.Guard, "get", fails_with(ZeroDivisionError("secret")))
    page = browser.get("/wall/")

    assert (page.status_code, kind(page)) == (500, "text/html")
    assert "Something went wrong" in page.text
    assert "secret" not in page.text


def test_the_root_of_the_origin_redirects_to_the_guard_page(browser):
    answer = browser.get("/?rd=https://office.example/")

    assert (answer.status_code, answer.headers["Location"]) == (302, "/wall/?rd=https://office.example/")
    assert browser.get("/wall").status_code == HTTPStatus.PERMANENT_REDIRECT


def test_pages_have_an_icon(browser, alice):
    icon = "/wall/static/portal/icon.svg"
    for path in ("/wall/", "/wall/nothing", "/wall/admin/login/"):
        assert f'rel="icon" href="{icon}"' in browser.get(path).text
    browser.cookies["service.token"] = a_token(alice)
    assert f'rel="icon" href="{icon}"' in browser.get("/wall/docs").text
    with closing(browser.get(icon)) as answer:  # last, because it closes the database as well
        assert kind(answer) == "image/svg+xml"
