"""The guard page stays small with every provider and a long return URL, and accepts a password without script."""

import re
from html import unescape
from itertools import product
from urllib.parse import parse_qs, urlsplit

import pytest

from accounts.identity_providers import services
from accounts.identity_providers.services import MAX_PROVIDERS
from accounts.models import IdentityProvider
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


def test_provider_links_carry_a_short_return_url():
    there = f"{SITE}plans?year=2026&page=2"

    page = Visitor("wall.example.com").get("/", {"rd": there})

    assert len(page.content) < MAX_BYTES
    assert ways_back(page) == [there] * MAX_PROVIDERS
    assert 'action="/wall/passkey"' in page.text


def test_a_long_return_url_is_kept_in_the_forms_and_shortened_in_the_links():
    there = f"{SITE}plans?{'x' * 1500}"

    page = Visitor("wall.example.com").get("/", {"rd": there})

    assert len(page.content) < MAX_BYTES
    assert ways_back(page) == [SITE] * MAX_PROVIDERS
    assert field(page, "rd") == there


ALL = product([0, 1, MAX_PROVIDERS], ["x", "&", "'"], [800, 4000, 15_000])
USUAL = {
    *product([MAX_PROVIDERS], ["x", "&", "'"], [15_000]),
    (MAX_PROVIDERS, "&", 4000),
    (1, "'", 4000),
    (0, "x", 800),
}


@pytest.mark.parametrize(
    ("providers", "character", "length"),
    [pytest.param(*each, marks=[] if each in USUAL else pytest.mark.full) for each in ALL],
)
def test_no_return_url_makes_a_large_page(providers, character, length):
    IdentityProvider.objects.filter(pk__gt=IdentityProvider.objects.earliest("pk").pk + providers - 1).delete()

    page = Visitor("wall.example.com").get("/", {"rd": f"{SITE}?{character * length}"})  # checks the size

    assert field(page, "rd") in {"", SITE, f"{SITE}?{character * length}"}


def test_a_second_factor_page_stays_small_too(bob):
    an_app(bob)

    asked = Visitor("wall.example.com").sign_in(rd=f"{SITE}?{'&' * 4000}")

    assert field(asked, "rd") == SITE


def test_a_page_under_the_host_of_a_site_has_no_button_for_passkeys(settings):
    """Browsers bind them to the origin of the page, and that is the site's."""
    page = Visitor(OFFICE).get("/", {"rd": SITE})

    assert 'action="/wall/passkey"' not in page.text
    assert 'name="password"' in page.text
    assert 'action="/wall/passkey"' in Visitor("gatewall:8000").get("/", {"rd": SITE}).text  # by a rewritten Host


def test_password_and_code_sign_in_without_script(bob, settings):
    settings.GATEWALL_PUBLIC_URL = ""
    app, visitor, there = an_app(bob), Visitor(), f"{SITE}plans"
    page = visitor.get("/", {"rd": there})

    asked = visitor.sign_in(rd=field(page, "rd"), password=PASSWORD)
    done = visitor.send("/second-factor", challenge=field(asked, "challenge"), code=app.code(), rd=field(asked, "rd"))

    assert (done.status_code, done.headers["Location"]) == (303, there)
    assert looked_at(done) is done
