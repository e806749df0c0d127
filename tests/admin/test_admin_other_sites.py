"""Other sites cannot write with the Django admin's session."""

import json

import pytest
from django.test import Client

from accounts.models import Session
from tests.admin.conftest import ADMIN
from tests.support.proxies import PASSWORD, enter_admin_site

pytestmark = pytest.mark.django_db
FROM_ELSEWHERE = [
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Origin": "http://app.example"},
    {"Origin": "http://app.example", "Sec-Fetch-Site": "same-origin"},
]
RULE = json.dumps({"country_code": "FR"})
# Django compares the origin with the host only: without a public URL, a protected site shares it.
UNDER_A_SITE = {"Host": "app.example"}


@pytest.fixture
def own_host(settings):
    settings.GATEWALL_PUBLIC_URL = "http://wall.example"
    return settings.GATEWALL_PUBLIC_URL


def under_a_site(alice):
    """Return a browser with Alice's session and a valid CSRF token, on our paths under a protected site's host."""
    client = Client(enforce_csrf_checks=True, headers=UNDER_A_SITE)
    client.get(f"{ADMIN}/login/")
    enter_admin_site(client, alice)
    return client, client.cookies["gatewall.csrf"].value


@pytest.mark.parametrize("headers", FROM_ELSEWHERE)
def test_another_site_cannot_write_with_the_admin_session_and_csrf_token(own_host, alice, headers):
    client, token = under_a_site(alice)
    sent = {**headers, "X-CSRFToken": token}

    answer = client.post("/wall/geo-block-rules", RULE, content_type="application/json", headers=sent)
    page = client.post(f"{ADMIN}/accounts/user/add/", {"username": "eve"}, headers=sent)

    assert (answer.status_code, answer.json()["code"]) == (403, "cross-site")
    assert (page.status_code, page.json()["code"]) == (403, "cross-site")
    assert client.get("/wall/geo-block-rules", headers=headers).json()["results"] == []


@pytest.mark.parametrize("headers", FROM_ELSEWHERE)
def test_another_site_cannot_sign_a_user_in(own_host, alice, headers):
    client = Client(enforce_csrf_checks=True, headers=UNDER_A_SITE)
    client.get(f"{ADMIN}/login/")
    sent = {**headers, "X-CSRFToken": client.cookies["gatewall.csrf"].value}

    response = client.post(f"{ADMIN}/login/", {"username": "alice", "password": PASSWORD}, headers=sent)

    assert (response.status_code, response.json()["code"]) == (403, "cross-site")
    assert not Session.objects.exists()


def test_the_local_admin_page_links_to_the_public_url(own_host, alice):
    here = {"Host": "127.0.0.1:9999"}
    client = Client(enforce_csrf_checks=True, headers=here)
    form = client.get(f"{ADMIN}/login/")
    sent = {"Origin": "http://127.0.0.1:9999", "Sec-Fetch-Site": "same-origin"}
    token = {"csrfmiddlewaretoken": client.cookies["gatewall.csrf"].value}

    refused = client.post(f"{ADMIN}/login/", {**token, "username": "alice", "password": PASSWORD}, headers=sent)

    home = f"{own_host}/wall/admin/"
    assert f'Sign in at <a href="{home}">{home}</a>: because GATEWALL_PUBLIC_URL is set' in form.text
    assert (refused.status_code, refused.json()["code"]) == (403, "cross-site")
    assert "open the page there" in refused.json()["detail"]
    assert own_host in refused.json()["detail"]
    for headers in ({"Host": own_host.partition("://")[2]}, {**here, "X-Forwarded-For": "192.0.2.1"}):
        assert "because GATEWALL_PUBLIC_URL" not in Client(headers=headers).get(f"{ADMIN}/login/").text


def test_our_own_pages_write(alice):
    client, token = under_a_site(alice)
    sent = {"Sec-Fetch-Site": "same-origin", "X-CSRFToken": token}

    assert client.post("/wall/geo-block-rules", RULE, content_type="application/json", headers=sent).status_code == 201
