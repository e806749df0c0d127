"""The administration page: from a session of the guard page to one of the admin site, with the password or a code."""

from http import HTTPStatus
from urllib.parse import urlencode

import pytest
from django.test import Client

from accounts import services
from accounts.models import Session
from audit.models import SecurityEvent
from policies.services import register_domain
from tests.support.proxies import PASSWORD, a_token
from tests.support.second_factor import an_app

pytestmark = pytest.mark.django_db
FORM = "application/x-www-form-urlencoded"
PAGE = "/wall/administration"


@pytest.fixture
def browser():
    return Client(enforce_csrf_checks=True, headers={"Host": "wall.example"})


@pytest.fixture
def admins(alice, browser):
    """Return the browser of an admin who signed in at the guard page."""
    browser.cookies["service.token"] = a_token(alice)
    return browser


def send(browser, headers=None, **fields):
    return browser.post(PAGE, urlencode(fields), content_type=FORM, headers=headers)


def may_administer(browser):
    return browser.get("/wall/admin/").status_code == HTTPStatus.OK


def test_the_guard_page_of_an_admin_links_to_the_administration_page(admins):
    assert f'href="{PAGE}"' in admins.get("/wall/").text
    page = admins.get(PAGE)

    assert (page.status_code, 'name="password"' in page.text, 'name="code"' in page.text) == (200, True, False)
    assert not may_administer(admins)


def test_under_the_host_of_a_site_the_link_uses_the_public_url(admins, settings):
    settings.GATEWALL_PUBLIC_URL = "https://wall.example.com"
    page = admins.get("/wall/", headers={"Host": "app.example.com"})

    assert page.text.count('href="https://wall.example.com/wall/administration"') == 2  # button and notice
    assert f'href="{PAGE}"' not in page.text


def test_an_admin_reads_that_a_site_shares_the_origin(admins, settings):
    words = "This page has the origin of wall.example"
    assert words not in admins.get(PAGE).text
    register_domain(actor="alice", name="wall.example", access="authenticated")
    assert words in admins.get(PAGE).text
    assert words in send(admins, password="wrong").text

    settings.GATEWALL_PUBLIC_URL = "https://wall.example"
    assert words in admins.get(PAGE).text  # there is a site at that host, too


def test_a_wildcard_over_the_host_of_the_public_url_is_no_site_there(admins, settings):
    register_domain(actor="alice", name="*.example", access="authenticated")
    words = "This page has the origin of wall.example"
    assert words in admins.get(PAGE).text

    settings.GATEWALL_PUBLIC_URL = "https://wall.example"
    assert words not in admins.get(PAGE).text


def test_an_admin_without_a_site_is_redirected_to_first_site(admins):
    assert send(admins, password=PASSWORD).headers["Location"] == "/wall/admin/first-site/"


def test_the_password_opens_the_admin_site_and_the_api(admins):
    register_domain(actor="alice", name="office.example", access="authenticated")
    response = send(admins, password=PASSWORD)

    assert (response.status_code, response.headers["Location"]) == (303, "/wall/admin/")
    assert may_administer(admins)
    del admins.cookies["service.token"]
    assert admins.get("/wall/docs").status_code == HTTPStatus.OK
    assert admins.get("/wall/users").status_code == HTTPStatus.OK


def test_a_wrong_or_missing_password_is_refused(admins):
    for fields in ({}, {"password": ""}, {"password": f"{PASSWORD}x"}, {"code": "000000"}):
        refused = send(admins, **fields)
        assert (refused.status_code, 'role="alert"' in refused.text) == (403, True)
    assert not may_administer(admins)


def test_wrong_passwords_are_limited(admins):
    answers = [send(admins, password="wrong").status_code for _ in range(12)]

    assert answers[-1] == HTTPStatus.TOO_MANY_REQUESTS
    assert send(admins, password=PASSWORD).status_code == HTTPStatus.TOO_MANY_REQUESTS


def test_an_admin_with_a_second_factor_enters_a_code(admins, alice):
    app = an_app(alice)
    admins.cookies["service.token"] = a_token(alice)
    assert 'name="code"' in admins.get(PAGE).text

    assert send(admins, password=PASSWORD).status_code == HTTPStatus.UNAUTHORIZED
    assert not may_administer(admins)
    assert send(admins, code=app.wrong).status_code == HTTPStatus.UNAUTHORIZED
    assert send(admins, code=app.code()).status_code == HTTPStatus.SEE_OTHER
    assert may_administer(admins)
    assert Session.objects.latest("issued_at").amr == ["pwd", "otp"]


def by_the_page(browser, user):
    browser.cookies["service.token"] = a_token(user)
    return send(browser, password=PASSWORD).status_code


def by_the_form(browser, user):
    browser.handler.enforce_csrf_checks = False
    return browser.post("/wall/admin/login/", {"username": user.username, "password": PASSWORD}).status_code


@pytest.mark.parametrize("enter", [by_the_page, by_the_form])
def test_the_session_that_another_admin_left_in_the_browser_ends(admins, alice, bob, enter):
    send(admins, password=PASSWORD)
    left, key = Session.objects.latest("issued_at"), admins.cookies["gatewall.admin"].value
    services.change_user(bob, actor="alice", is_admin=True)

    assert enter(admins, bob) in {HTTPStatus.SEE_OTHER, HTTPStatus.FOUND}
    left.refresh_from_db()
    assert (left.user, left.revoked_at is None) == (alice, False)
    assert may_administer(admins)
    del admins.cookies["service.token"]
    admins.cookies["gatewall.admin"] = key
    assert not may_administer(admins)


def test_only_admins_open_the_administration_page(browser, bob):
    assert browser.get(PAGE).status_code == HTTPStatus.SEE_OTHER
    assert send(browser, password=PASSWORD).status_code == HTTPStatus.SEE_OTHER
    browser.cookies["service.token"] = a_token(bob)

    assert PAGE not in browser.get("/wall/").text
    assert browser.get(PAGE).status_code == HTTPStatus.SEE_OTHER
    assert send(browser, password=PASSWORD).status_code == HTTPStatus.FORBIDDEN
    assert not may_administer(browser)


def test_another_site_cannot_send_the_form(admins):
    refused = send(admins, headers={"Sec-Fetch-Site": "cross-site"}, password=PASSWORD)

    assert refused.status_code == HTTPStatus.FORBIDDEN
    assert not may_administer(admins)


def test_the_session_is_recorded_and_ends_like_any_other(admins, alice):
    send(admins, password=PASSWORD)

    event = SecurityEvent.objects.latest("id")
    assert (event.kind, event.detail["flow"]) == ("login.succeeded", "admin-site")
    services.end_all_sessions(alice, actor="alice")
    assert not may_administer(admins)
