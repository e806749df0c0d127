"""``GATEWALL_PUBLIC_URL`` and ``GATEWALL_COOKIE_DOMAIN``: bad values are refused in one line with the remedy."""

import pytest

from gatewall.kernel.env_public import cookie_domain, public_urls
from gatewall.kernel.env_reader import ConfigError

REMEDIES = [
    (
        {"GATEWALL_PUBLIC_URL": "wall.example.org"},
        "GATEWALL_PUBLIC_URL must be like https://wall.example.org, with scheme and host, not 'wall.example.org'",
    ),
    (
        {"GATEWALL_PUBLIC_URL": "https://wall.example.org/wall/"},
        (
            "GATEWALL_PUBLIC_URL must be like https://wall.example.org, without a path (that is ROOT_PATH), "
            "not 'https://wall.example.org/wall/'"
        ),
    ),
    (
        {"GATEWALL_COOKIE_DOMAIN": "co.uk"},
        (
            "GATEWALL_COOKIE_DOMAIN must not be a public suffix, for which browsers accept no cookie, not 'co.uk': "
            "use the domain of your sites, like example.co.uk"
        ),
    ),
    (
        {"GATEWALL_COOKIE_DOMAIN": "192.0.2.7"},
        "GATEWALL_COOKIE_DOMAIN must be a domain, not an address ('192.0.2.7'): leave it unset",
    ),
    (
        {"GATEWALL_COOKIE_DOMAIN": "example.org", "GATEWALL_PUBLIC_URL": "https://wall.example.com"},
        (
            "GATEWALL_COOKIE_DOMAIN must be wall.example.com or a parent of it, because browsers refuse other cookies "
            "from https://wall.example.com, not 'example.org': leave it unset to derive it"
        ),
    ),
    (
        {"GATEWALL_PUBLIC_URL": "https://wall.example.org,https://guard.example.org"},
        "GATEWALL_PUBLIC_URL has two addresses under example.org: one of them serves all sites there",
    ),
]


@pytest.mark.parametrize(("variables", "line"), REMEDIES, ids=[each[1][:60] for each in REMEDIES])
def test_a_bad_value_is_refused_in_one_line_with_the_remedy(variables, line):
    with pytest.raises(ConfigError) as refusal:
        cookie_domain(
            variables.get("GATEWALL_COOKIE_DOMAIN", ""), public_urls(variables.get("GATEWALL_PUBLIC_URL", ""))
        )

    assert str(refusal.value) == line


def test_several_addresses_are_separated_by_commas():
    text = "https://wall.a.example, https://wall.b.example:443,http"

    assert public_urls(text.removesuffix(",http")) == ("https://wall.a.example", "https://wall.b.example")
    with pytest.raises(ConfigError, match=r"not 'http'$"):
        public_urls(text)
    assert public_urls("") == ()


@pytest.mark.parametrize("text", ["http://localhost:8080", "http://192.0.2.7", "http://[2001:db8::7]:8080"])
def test_an_address_without_a_domain_is_accepted(text):
    assert public_urls(text) == (text,)


def test_a_cookie_domain_of_the_host_itself_or_above_is_taken():
    urls = public_urls("https://wall.home.example.com")

    for domain in ("wall.home.example.com", ".home.example.com", "EXAMPLE.com"):
        assert cookie_domain(domain, urls) == domain.removeprefix(".").lower()
