"""Cookie domains and public suffixes: what browsers accept, and the messages about what they refuse."""

import socket

import pytest

from gatewall.gate.responses import GuardPage
from gatewall.kernel import cookie_domain
from gatewall.kernel.cookie_domain import (
    CookieScope,
    derived_domain,
    guard_url,
    is_within,
    registrable_domain,
    why_unreached,
)
from tests.unit.request_cases import a_policy, a_request

HOME = ["https://wall.example.com"]
BOTH = [*HOME, "https://wall.example.org"]


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("wall.example.com", "example.com"),
        ("a.b.example.co.uk", "example.co.uk"),
        ("example.co.uk", "example.co.uk"),
        ("co.uk", None),
        ("me.github.io", "me.github.io"),
        ("github.io", None),
        ("home.duckdns.org", "home.duckdns.org"),
        ("wall.xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("wall.home.xn--55qx5d.cn", "home.xn--55qx5d.cn"),  # 公司.cn: the list has it in Unicode
        ("wall.lan", "wall.lan"),
        ("wall.home.lan", "home.lan"),
        ("localhost", None),
        ("192.0.2.7", None),
        ("[2001:db8::1]", None),
    ],
)
def test_widest_domain_of_a_cookie(host, domain):
    assert registrable_domain(host) == domain


def test_the_list_needs_no_network(monkeypatch):
    monkeypatch.setattr(socket, "socket", None)
    monkeypatch.setattr(socket, "getaddrinfo", None)
    cookie_domain._suffixes.cache_clear()
    registrable_domain.cache_clear()

    assert registrable_domain("wall.example.co.uk") == "example.co.uk"


@pytest.mark.parametrize(
    ("guard", "names", "domain"),
    [
        ("wall.example.com", [], None),
        ("wall.example.com", ["wall.example.com"], None),
        ("wall.example.com", ["localhost", "127.0.0.1", "[::1]"], None),
        ("wall.example.com", ["app.example.com"], "example.com"),
        ("wall.example.com", ["*.example.com"], "example.com"),
        ("wall.example.com", ["*.wall.example.com"], "wall.example.com"),
        ("wall.home.example.com", ["app.home.example.com", "tv.home.example.com"], "home.example.com"),
        ("wall.home.example.com", ["app.home.example.com", "www.example.com"], "example.com"),
        ("wall.example.com", ["app.example.org"], None),
        ("wall.example.com", ["app.example.org", "app.example.com"], "example.com"),
        ("example.com", ["app.example.com"], "example.com"),
        ("me.github.io", ["you.github.io"], None),
        ("wall.co.uk", ["app.co.uk", "*.co.uk"], None),
        ("wall.lan", ["app.lan"], None),
        ("wall.home.lan", ["app.home.lan"], "home.lan"),
        ("localhost", ["app.example.com"], None),
        ("192.0.2.7", ["192.0.2.8", "app.example.com"], None),
    ],
)
def test_smallest_domain_that_the_sites_need(guard, names, domain):
    assert derived_domain(guard, names) == domain


@pytest.mark.parametrize(
    ("domain", "name", "reached"),
    [
        (None, "wall.example.com", True),
        (None, "app.example.com", False),
        (None, "*.wall.example.com", False),
        ("example.com", "app.example.com", True),
        ("example.com", "example.com", True),
        ("example.com", "*.example.com", True),
        ("example.com", "a.b.example.com", True),
        ("example.com", "myexample.com", False),
        ("example.com", "app.example.org", False),
        ("example.org", "app.example.org", False),  # the browser refuses it from wall.example.com
    ],
)
def test_hosts_that_a_cookie_reaches(domain, name, reached):
    assert CookieScope("wall.example.com", domain).reaches(name) is reached


def test_a_name_with_the_same_suffix_is_not_a_subdomain():
    assert not is_within("evilexample.com", "example.com")


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("app.example.com", BOTH[0]),
        ("app.example.org", BOTH[1]),
        ("wall.example.org", BOTH[1]),
        ("app.example.net", BOTH[0]),
        ("192.0.2.7", BOTH[0]),
    ],
)
def test_each_parent_has_its_guard_page(host, url):
    assert guard_url(BOTH, host) == url
    assert guard_url(HOME, host) == HOME[0]


@pytest.mark.parametrize(("host", "home"), [("app.example.com", BOTH[0]), ("app.example.org", BOTH[1])])
def test_the_gate_leads_to_the_guard_page_under_the_parent_of_the_site(host, home):
    guard, policy = GuardPage("/wall", BOTH[0], (BOTH[1],)), a_policy(domains={host: "authenticated"})

    assert guard.location(a_request(host=host), policy) == f"{home}/wall/?rd=http%3A%2F%2F{host}%2F"


WORDS = [
    (
        CookieScope("wall.example.com", "example.com"),
        "app.example.org",
        "browsers send a cookie of wall.example.com only to hosts below example.com",
        "add a guard page under example.org: GATEWALL_PUBLIC_URL=https://wall.example.com,https://wall.example.org",
    ),
    (
        CookieScope("wall.example.com", "wall.example.com"),
        "*.example.com",
        "GATEWALL_COOKIE_DOMAIN is wall.example.com, and browsers send the cookie only to hosts below it",
        "set GATEWALL_COOKIE_DOMAIN to example.com, or leave it unset",
    ),
    (
        CookieScope("wall.example.com"),
        "192.0.2.7",
        "browsers send a cookie of wall.example.com only to hosts below example.com",
        "give the site a host name below example.com",
    ),
    (
        CookieScope("wall.co.uk"),
        "app.co.uk",
        "co.uk is a public suffix, so browsers share no cookie between wall.co.uk and app.co.uk",
        "give both a common domain, like wall.example.co.uk and app.example.co.uk",
    ),
    (
        CookieScope("localhost"),
        "app.example.org",
        "browsers send a cookie of localhost to no other host",
        "set GATEWALL_PUBLIC_URL to a host under the domain of your sites, like https://wall.example.org",
    ),
    (
        CookieScope("192.0.2.7"),
        "192.0.2.8",
        "browsers send a cookie of 192.0.2.7 to no other host",
        "set GATEWALL_PUBLIC_URL to a host under the domain of your sites, like https://wall.example.com",
    ),
    (
        CookieScope("app.example.org", "example.com"),
        "app.example.org",
        "GATEWALL_COOKIE_DOMAIN is example.com, and browsers refuse such a cookie from app.example.org",
        "leave GATEWALL_COOKIE_DOMAIN unset: it is derived then",
    ),
]


@pytest.mark.parametrize(("scope", "name", "why", "fix"), WORDS, ids=[each[1] for each in WORDS])
def test_an_unreached_site_has_a_reason_and_a_fix(scope, name, why, fix):
    assert not scope.reaches(name)

    found = why_unreached(scope, name, HOME)

    assert (str(found.why), str(found.fix)) == (why, fix)


def test_the_proposed_guard_page_has_scheme_and_port_of_the_first():
    scope = CookieScope("wall.example.com", "example.com")

    fix = why_unreached(scope, "app.example.org", ["http://wall.example.com:8080"]).fix

    assert fix.endswith("GATEWALL_PUBLIC_URL=http://wall.example.com:8080,http://wall.example.org:8080")
