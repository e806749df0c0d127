"""Browsers send one cookie per domain and path: a stale or guard-page cookie must not hide a valid one."""

import pytest
from rest_framework.test import APIClient

from accounts.models import Session
from tests.support.proxies import Api, a_token, enter_admin_site

pytestmark = pytest.mark.django_db
NEW = {"ip": "203.0.113.7"}
STALE = "no.good.token"


def sending(*tokens):
    return Api(Cookie="; ".join(f"service.token={token}" for token in tokens))


@pytest.fixture
def at_the_admin_site(alice):
    """Return a function that makes a browser with Alice's admin session and these further cookies."""

    def new(*tokens):
        api = Api()
        client = APIClient(enforce_csrf_checks=True)
        enter_admin_site(client, alice)
        session = client.cookies["gatewall.admin"].value
        pairs = [f"gatewall.admin={session}", *(f"service.token={token}" for token in tokens)]
        api._client = APIClient(headers={"Cookie": "; ".join(pairs)}, enforce_csrf_checks=True)
        return api

    return new


def test_a_stale_cookie_does_not_hide_a_valid_one(alice):
    good = a_token(alice)

    assert [sending(*pair).get("/users").status_code for pair in ((STALE, good), (good, STALE))] == [200, 200]


def test_a_guard_page_cookie_does_not_hide_an_api_cookie(alice, bob):
    guard, good = a_token(bob, audiences=["gate"]), a_token(alice)

    assert [sending(*pair).get("/users").status_code for pair in ((guard, good), (good, guard))] == [200, 200]


def test_the_fifth_cookie_is_not_tried(alice):
    good = a_token(alice)

    assert sending(*[STALE] * 3, good).get("/users").status_code == 200
    assert sending(*[STALE] * 4, good).get("/users").status_code == 401


def test_a_cookie_in_quotes_is_read_as_at_the_gate(alice):
    assert sending(f'"{a_token(alice)}"').get("/users").status_code == 200


def test_invalid_cookies_do_not_authenticate(alice):
    assert sending(STALE, STALE).get("/users").status_code == 401
    assert sending(STALE).get("/session").status_code == 401


def test_an_invalid_header_is_refused_even_with_valid_cookies(alice):
    response = Api(STALE, Cookie=f"service.token={a_token(alice)}").get("/users")

    assert response.status_code == 401


def test_a_stale_cookie_does_not_shut_out_the_admin_site(at_the_admin_site):
    assert at_the_admin_site(STALE).get("/users").status_code == 200


def test_a_cookie_of_the_guard_page_does_not_shut_out_the_admin_site(at_the_admin_site, alice, bob):
    for user in (alice, bob):
        assert at_the_admin_site(a_token(user, audiences=["gate"])).get("/users").status_code == 200


def test_an_api_cookie_takes_precedence_over_the_admin_site_session(at_the_admin_site, bob):
    assert at_the_admin_site(a_token(bob)).get("/users").status_code == 403


def test_the_session_of_the_guard_page_is_shown_at_the_admin_site_too(at_the_admin_site, bob):
    answer = at_the_admin_site(a_token(bob, audiences=["gate"])).get("/session")

    assert answer.json()["user"]["username"] == "Bob"


def test_a_write_of_the_admin_site_needs_its_csrf_token_with_a_guard_cookie_too(at_the_admin_site, bob):
    assert at_the_admin_site(a_token(bob, audiences=["gate"])).post("/ip-black-list", NEW).status_code == 403


def test_a_cross_site_write_with_a_valid_second_cookie_is_refused(alice):
    api = Api(Cookie=f"service.token={STALE}; service.token={a_token(alice)}", **{"Sec-Fetch-Site": "cross-site"})

    assert api.post("/ip-black-list", NEW).json()["code"] == "cross-site"


def test_the_guard_page_ignores_a_stale_cookie_after_the_valid_one(client, bob):
    page = client.get("/wall/", headers={"Cookie": f"service.token={a_token(bob)}; service.token={STALE}"})

    assert "<strong>Bob</strong>" in page.text


def test_signing_out_ends_every_session_of_the_browser(client, alice, bob):
    tokens = [a_token(alice), a_token(bob)]

    cookies = "; ".join(f"service.token={token}" for token in tokens)
    client.post("/wall/sign-out", content_type="application/x-www-form-urlencoded", headers={"Cookie": cookies})

    assert not Session.objects.filter(revoked_at__isnull=True).exists()
    assert [Api(token).get("/session").status_code for token in tokens] == [401, 401]


def test_a_session_that_was_ended_hides_no_other(alice):
    ended, good = a_token(alice), a_token(alice)
    api = sending(good, ended)
    Api(ended).post("/logout")

    assert api.get("/users").status_code == 200
