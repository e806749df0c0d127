"""Browsers: cross-site writes, and cookies."""

import pytest

from policies import services
from tests.support.proxies import PASSWORD, Api, a_token

pytestmark = pytest.mark.django_db
FOREIGN = [
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": ""},
    {"Sec-Fetch-Site": "cross-site", "Origin": "http://testserver"},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": ""},
    {"Origin": "http://testserver.evil.example"},
    {"Origin": "http://testserver@evil.example"},
    {"Origin": "http://testserver:8080"},
    {"Origin": "ftp://testserver"},
]
OURS = [
    {},
    {"Sec-Fetch-Site": "same-origin"},
    {"Sec-Fetch-Site": "none"},
    {"Sec-Fetch-Site": "same-origin", "Origin": "null"},
    {"Origin": "http://testserver"},
    {"Origin": "https://testserver"},
]
NEW = {"ip": "203.0.113.7"}


@pytest.mark.parametrize("headers", FOREIGN, ids=repr)
def test_a_write_with_a_cookie_from_another_site_is_refused(alice, headers):
    response = Api(cookie=a_token(alice), **headers).post("/ip-black-list", NEW)

    assert (response.status_code, response.json()["code"]) == (403, "cross-site")


@pytest.mark.parametrize("headers", OURS, ids=repr)
def test_a_write_with_a_cookie_of_our_own_page_passes(alice, headers):
    assert Api(cookie=a_token(alice), **headers).post("/ip-black-list", NEW).status_code == 201


@pytest.mark.parametrize("headers", FOREIGN, ids=repr)
def test_a_write_with_a_header_comes_from_no_other_site(alice, headers):
    assert Api(a_token(alice), **headers).post("/ip-black-list", NEW).status_code == 201


@pytest.mark.parametrize("headers", FOREIGN, ids=repr)
def test_reading_with_a_cookie_changes_nothing_and_passes(alice, headers):
    assert Api(cookie=a_token(alice), **headers).get("/ip-black-list").status_code == 200


@pytest.mark.parametrize("path", ["/login", "/admin-login"])
@pytest.mark.parametrize("headers", FOREIGN, ids=repr)
def test_a_sign_in_from_another_site_is_refused(alice, path, headers):
    response = Api(**headers).post(path, {"username": "alice", "password": PASSWORD})

    assert (response.status_code, response.json()["code"]) == (403, "cross-site")
    assert not response.cookies


def test_a_logout_with_a_cookie_from_another_site_is_refused(bob):
    token = a_token(bob)

    assert Api(cookie=token, **{"Sec-Fetch-Site": "cross-site"}).post("/logout").status_code == 403
    assert Api(token).get("/session").status_code == 200


@pytest.mark.parametrize(
    ("origin", "status"),
    [("https://wall.example", 201), ("http://wall.example", 403), ("http://testserver", 403), ("https://evil", 403)],
)
def test_with_a_public_url_only_that_origin_may_write(alice, settings, origin, status):
    settings.GATEWALL_PUBLIC_URL = "https://wall.example"

    assert Api(cookie=a_token(alice), Origin=origin).post("/ip-black-list", NEW).status_code == status


def cookie_of(settings, host="testserver", public_url=None, domain=None):
    settings.GATEWALL_PUBLIC_URL, settings.GATEWALL_COOKIE_DOMAIN = public_url, domain
    response = Api(Host=host).post("/login", {"username": "alice", "password": PASSWORD})
    return response.cookies["service.token"]


def test_the_cookie_is_httponly_samesite_lax_and_host_only(alice, settings):
    cookie = cookie_of(settings)

    assert (cookie["httponly"], cookie["samesite"], cookie["path"], cookie["domain"]) == (True, "Lax", "/", "")


def test_the_cookie_ends_with_the_token(alice, settings):
    assert cookie_of(settings)["expires"]


def test_the_cookie_is_for_the_domain_of_the_settings(alice, settings):
    assert cookie_of(settings, domain="example.org")["domain"] == "example.org"


@pytest.fixture
def sites(alice):
    for name in ("app.home.example.com", "app.example.org"):
        services.register_domain(actor="alice", name=name, access="authenticated")


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("wall.home.example.com", "home.example.com"),
        ("app.home.example.com:8443", "home.example.com"),
        ("wall.example.org", "example.org"),
        ("127.0.0.1:9999", ""),
        ("wall.example.net", ""),
        ("evilhome.example.com", ""),
    ],
)
def test_without_a_setting_the_domain_is_the_smallest_that_the_registered_sites_need(settings, sites, host, domain):
    settings.GATEWALL_OTHER_PUBLIC_URLS = ("https://wall.example.org",)

    assert cookie_of(settings, host, "https://wall.home.example.com")["domain"] == domain


def test_the_configured_domain_applies_only_to_the_first_public_url(settings, sites):
    settings.GATEWALL_OTHER_PUBLIC_URLS = ("https://wall.example.org",)
    home = "https://wall.home.example.com"

    assert cookie_of(settings, "wall.home.example.com", home, "example.com")["domain"] == "example.com"
    assert cookie_of(settings, "wall.example.org", home, "example.com")["domain"] == "example.org"


def test_a_browser_with_a_wrong_clock_keeps_the_cookie(alice, settings):
    assert cookie_of(settings)["max-age"] == pytest.approx(24 * 3600, abs=60)  # relative to the time of arrival


@pytest.mark.parametrize("host", ["localhost", "localhost:9999", "127.0.0.1", "127.8.8.8:80", "[::1]:9999"])
def test_on_loopback_the_cookie_works_without_tls(alice, settings, host):
    assert not cookie_of(settings, host)["secure"]


@pytest.mark.parametrize(
    "host", ["wall.example", "192.0.2.1", "localhost.evil.example", "128.0.0.1", "127.0.0.1.nip.io"]
)
def test_elsewhere_the_cookie_needs_tls(alice, settings, host):
    assert cookie_of(settings, host)["secure"]


@pytest.mark.parametrize(("public_url", "secure"), [("http://wall.example", False), ("https://wall.example", True)])
@pytest.mark.parametrize("host", ["wall.example", "localhost"])
def test_the_public_url_decides_whether_the_cookie_is_secure(alice, settings, public_url, secure, host):
    assert bool(cookie_of(settings, host, public_url)["secure"]) is secure


def test_the_cookie_is_deleted_with_the_attributes_it_was_set_with(bob, settings):
    settings.GATEWALL_COOKIE_DOMAIN = "example.org"

    cookie = Api(a_token(bob)).post("/logout").cookies["service.token"]

    assert (cookie["path"], cookie["domain"], cookie["samesite"], cookie.value) == ("/", "example.org", "Lax", "")


def test_each_of_several_public_urls_is_an_origin_of_ours(alice, settings):
    settings.GATEWALL_PUBLIC_URL = "https://wall.example"
    settings.GATEWALL_OTHER_PUBLIC_URLS = ("https://wall.example.org",)
    headers = {"Sec-Fetch-Site": "same-origin", "Origin": "https://wall.example.org"}

    assert Api(cookie=a_token(alice), **headers).post("/ip-black-list", NEW).status_code == 201
    headers["Origin"] = "https://app.example.org"
    assert Api(cookie=a_token(alice), **headers).post("/ip-black-list", NEW).status_code == 403


@pytest.mark.parametrize(
    ("origin", "status"), [("https://wall.example", 201), ("https://office.example", 403), ("null", 403), (None, 403)]
)
def test_with_a_public_url_a_page_under_a_sites_host_is_cross_site(alice, settings, origin, status):
    settings.GATEWALL_PUBLIC_URL = "https://wall.example"
    headers = {"Sec-Fetch-Site": "same-origin", **({"Origin": origin} if origin else {})}

    assert Api(cookie=a_token(alice), **headers).post("/ip-black-list", NEW).status_code == status
