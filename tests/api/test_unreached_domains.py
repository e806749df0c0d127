"""Warnings of domains that no session cookie reaches: at registration and by ``check --deploy``."""

import pytest
from django.core.checks import Error
from django.test import Client

from gatewall.install.checks import check_network, check_rows
from policies import cookie_reach, services
from policies.models import AuthorizedDomain
from tests.support.proxies import enter_admin_site

pytestmark = pytest.mark.django_db
DOMAINS = "/authorized-domains"
WARNING = (
    "visitors of app.example.org cannot stay signed in, because browsers send a cookie of wall.example.com only to "
    "hosts below example.com: add a guard page under example.org: "
    "GATEWALL_PUBLIC_URL=https://wall.example.com,https://wall.example.org"
)


@pytest.fixture(autouse=True)
def home(settings, alice):
    settings.GATEWALL_PUBLIC_URL = "https://wall.example.com"
    services.register_domain(actor="alice", name="app.example.com", access="authenticated")
    return settings


def errors():
    return [each for each in check_rows() if each.id == "gatewall.E005"]


def warnings(admin, name, **values):
    return admin.post(DOMAINS, {"name": name, **values}).json().get("warnings")


def test_the_registration_of_an_unreached_domain_returns_the_warning(admin):
    assert warnings(admin, "app.example.org") == [WARNING]


@pytest.mark.parametrize("name", ["tv.example.com", "*.example.com", "example.com", "wall.example.com"])
def test_a_domain_under_the_parent_of_the_guard_page_is_no_warning(admin, name):
    assert warnings(admin, name) is None
    assert errors() == []


@pytest.mark.parametrize("access", ["public", "denied"])
def test_domains_without_sign_in_give_no_warning(admin, access):
    assert warnings(admin, "app.example.org", access=access) is None
    assert errors() == []


def test_a_denied_domain_does_not_widen_the_cookie(admin, home):
    home.GATEWALL_PUBLIC_URL = "https://wall.home.example.com"
    services.register_domain(actor="alice", name="tv.home.example.com", access="authenticated")
    app = AuthorizedDomain.objects.get(name="app.example.com")
    assert cookie_reach.cookie_domain("wall.home.example.com") == "example.com"
    services.change_domain(app, actor="alice", caller=None, access="denied")

    assert cookie_reach.cookie_domain("wall.home.example.com") == "home.example.com"


def test_a_change_of_an_unreached_domain_returns_the_warning(admin):
    made = admin.post(DOMAINS, {"name": "app.example.org", "access": "public"}).json()

    changed = admin.put(f"{DOMAINS}/{made['id']}", {"access": "authenticated"})

    assert changed.json()["warnings"] == [WARNING]
    assert admin.put(f"{DOMAINS}/{made['id']}", {**changed.json(), "access": "public"}).status_code == 200


def test_a_guard_page_under_each_parent_reaches_both(admin, home):
    home.GATEWALL_OTHER_PUBLIC_URLS = ("https://wall.example.org",)

    assert warnings(admin, "app.example.org") is None
    assert errors() == []


def test_a_configured_domain_that_is_too_narrow_is_named(admin, home):
    home.GATEWALL_COOKIE_DOMAIN = "wall.example.com"

    (error,) = errors()

    assert error.msg == (
        "Visitors of app.example.com cannot stay signed in, because GATEWALL_COOKIE_DOMAIN is wall.example.com, and "
        "browsers send the cookie only to hosts below it."
    )
    assert error.hint == "Set GATEWALL_COOKIE_DOMAIN to example.com, or leave it unset"


def test_the_check_is_an_error_for_each_domain(admin):
    for name in ("app.example.org", "*.example.net", "public.example.org"):
        admin.post(DOMAINS, {"name": name, "access": "public" if name.startswith("p") else "authenticated"})

    found = errors()

    assert all(isinstance(each, Error) for each in found)
    assert [each.msg.split()[2] for each in found] == ["*.example.net", "app.example.org"]


def test_the_check_reads_the_domains_twice_however_many_there_are(admin, django_assert_num_queries):
    for number in range(5):
        services.register_domain(actor="alice", name=f"a{number}.example.org", access="authenticated")

    with django_assert_num_queries(2):
        assert len(list(cookie_reach.unreached_domains())) == 5


def test_domains_of_the_installation_are_no_error():
    services.register_domain(actor="seed", name="localhost", access="authenticated", seed=True)

    assert errors() == []


def test_without_a_public_url_each_site_has_its_own_cookie(admin, home):
    home.GATEWALL_PUBLIC_URL = None

    assert warnings(admin, "*.example.org") is None
    assert errors() == []


@pytest.mark.parametrize("url", ["http://localhost:8080", "https://192.0.2.7", "https://[2001:db8::7]", "https://lan"])
def test_a_guard_page_without_a_domain_is_reported(home, url):
    home.GATEWALL_PUBLIC_URL = url

    (warning,) = [each for each in check_network() if each.id == "gatewall.W013"]

    assert warning.msg == f"Browsers send the session cookie of {url} to no other host."
    assert "https://wall.example.com" in warning.hint


@pytest.mark.parametrize(
    ("public_url", "configured", "words"),
    [
        (None, None, "Visitors sign in under the host of each site, and the session cookie is for that host."),
        (
            "https://wall.example.com",
            None,
            (
                "Visitors sign in at https://wall.example.com. Browsers send the session cookie to example.com and "
                "every host below it (derived from the public URL and the registered domains)."
            ),
        ),
        (
            "https://wall.b.example.com",
            "b.example.com",
            (
                "Visitors sign in at https://wall.b.example.com. Browsers send the session cookie to b.example.com and "
                "every host below it (set by GATEWALL_COOKIE_DOMAIN)."
            ),
        ),
        (
            "https://wall.example.net",
            None,
            (
                "Visitors sign in at https://wall.example.net. The session cookie is for that host alone until you "
                "register sites below example.net."
            ),
        ),
        (
            "http://localhost:8080",
            None,
            "Visitors sign in at http://localhost:8080. Browsers send the session cookie to no other host.",
        ),
        (
            None,
            "example.com",
            (
                "Visitors sign in under the host of each site. Browsers send the session cookie to example.com and "
                "every host below it."
            ),
        ),
    ],
)
def test_the_settings_page_shows_the_sign_in_address(home, alice, public_url, configured, words):
    home.GATEWALL_PUBLIC_URL, home.GATEWALL_COOKIE_DOMAIN = public_url, configured
    client = Client()
    enter_admin_site(client, alice)

    assert words in client.get("/wall/admin/gatewall/systemsettings/1/change/").text


def test_the_admin_site_warns_after_the_registration(home, alice):
    client = Client()
    enter_admin_site(client, alice)
    form = {"name": "app.example.org", "access": "authenticated", "remark": ""}

    page = client.post("/wall/admin/policies/authorizeddomain/add/", form, follow=True).text

    assert "browsers send a cookie of wall.example.com only to hosts below example.com" in page
