"""The guard page is small, also with every provider and a long way back, and without script it takes a password."""

import re
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from accounts.identity_providers import services
from accounts.identity_providers.services import MAX_PROVIDERS
from tests.support.cast import OFFICE
from tests.support.proxies import PASSWORD
from tests.support.second_factor import an_app
from tests.support.visitor import MAX_BYTES, Visitor, field, looked_at

pytestmark = pytest.mark.django_db
SITE = f"https://{OFFICE}/"


@pytest.fixture(autouse=True)
def _providers(alice, office, settings):
    settings.GATEWALL_PUBLIC_URL = "https://wall.example.com"  # which has passkeys
    for number in range(MAX_PROVIDERS):
        services.create_provider(
            actor="alice",
            slug=f"provider-{number}",
            name=f"Provider of department {number}",
            issuer=f"https://login{number}.example",
            client_id="gatewall",
        )


def ways_back(page):
    links = [unescape(link) for link in re.findall(r'href="([^"]*/oidc/[^"]*)"', page.text)]
    return [parse_qs(urlsplit(link).query)["rd"][0] for link in links]


def test_links_to_every_provider_carry_the_way_back_while_it_is_short():
    there = f"{SITE}plans?year=2026&page=2"

    page = Visitor("wall.example.com").get("/", {"rd": there})

    assert len(page.content) < MAX_BYTES
    assert ways_back(page) == [there] * MAX_PROVIDERS
    assert 'action="/wall/passkey"' in page.text


def test_a_long_way_back_is_kept_by_the_forms_and_shortened_in_the_links():
    there = f"{SITE}plans?{'x' * 1500}"

    page = Visitor("wall.example.com").get("/", {"rd": there})

    assert len(page.content) < MAX_BYTES
    assert ways_back(page) == [SITE] * MAX_PROVIDERS
    assert field(page, "rd") == there


def test_the_longest_way_back_makes_no_large_page():
    page = Client(headers={"Host": "wall.example.com"}).get("/wall/", {"rd": f"{SITE}?{'&' * 4000}"})

    assert page.status_code == 200
    assert len(page.content) < 60_000  # two forms, in which each & has five letters


def test_password_and_code_sign_in_without_script(bob, settings):
    settings.GATEWALL_PUBLIC_URL = ""
    app, visitor, there = an_app(bob), Visitor(), f"{SITE}plans"
    page = visitor.get("/", {"rd": there})

    asked = visitor.sign_in(rd=field(page, "rd"), password=PASSWORD)
    done = visitor.send("/second-factor", challenge=field(asked, "challenge"), code=app.code(), rd=field(asked, "rd"))

    assert (done.status_code, done.headers["Location"]) == (303, there)
    assert looked_at(done) is done
