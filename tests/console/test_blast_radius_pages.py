"""The page of the blast radius, as an admin sees it."""

import pytest

pytestmark = pytest.mark.django_db
RADIUS = "/blast-radius/"


def test_the_blast_radius_names_signed_in_users(pages, record):
    words = pages.get(f"{RADIUS}?network=203.0.113.0/24").content.decode()

    assert "people: 1, machines: 0, requests: 1" in words
    assert "Bob" in words
    assert "people: 1, machines: 0, requests: 2" in pages.get(f"{RADIUS}?country=nz").content.decode()
    assert "Nobody signed in from there" in pages.get(f"{RADIUS}?network=192.0.2.7").content.decode()
    assert '<option value="NZ">New Zealand (NZ)</option>' in pages.get(RADIUS).content.decode()
    assert '<option value="NZ" selected>' in pages.get(f"{RADIUS}?country=nz").content.decode()


@pytest.mark.parametrize(
    "query",
    ["network=10.0.0.1/8", "network=x", "country=NZL", "country=Germany", "country=1", "network=::1&country=NZ"],
)
def test_an_empty_or_invalid_blast_radius_is_refused(pages, query):
    refused = pages.get(f"{RADIUS}?{query}")

    assert refused.status_code == 400
    assert 'role="alert"' in refused.content.decode()
