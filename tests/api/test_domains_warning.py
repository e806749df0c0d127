"""The API, the admin site and ``check --deploy`` warn if mode and registered domains contradict each other."""

import pytest
from django.test import Client

from gatewall.install.checks import check_rows
from gatewall.policy import system_settings
from policies import selectors, services
from tests.support.proxies import enter_admin_site

pytestmark = pytest.mark.django_db

HEADER = "X-Gatewall-Warning"


@pytest.fixture
def own(alice):
    return services.register_domain(actor="alice", name="own.example", access="public")


@pytest.fixture
def site(alice):
    """Return a browser that is signed in to the admin site as Alice."""
    client = Client()
    enter_admin_site(client, alice)
    return client


def checked():
    return {each.id for each in check_rows()} & {"gatewall.W011", "gatewall.W012"}


def test_deleting_the_last_domain_warns_that_every_other_host_is_refused(admin, own, office):
    response = admin.delete(f"/authorized-domains/{own.pk}")

    assert (response.status_code, response.content) == (204, b"")
    assert response.headers[HEADER] == selectors.NONE_REGISTERED
    assert checked() == {"gatewall.W011"}


def test_deleting_another_domain_gives_no_warning(admin, own):
    other = services.register_domain(actor="alice", name="other.example", access="public")

    assert HEADER not in admin.delete(f"/authorized-domains/{other.pk}").headers
    assert checked() == set()


def test_domains_of_the_installation_give_no_warning(office):
    assert (selectors.domains_warning(), checked()) == ("", set())


def test_mode_any_with_registered_domains_is_a_warning(own):
    system_settings.change(actor="alice", authorized_domains_mode="any")

    assert selectors.domains_warning() == selectors.OTHERS_PASS
    assert checked() == {"gatewall.W012"}


def test_the_domain_list_shows_the_warning(site, own):
    words = selectors.NONE_REGISTERED.removeprefix("n")  # Django capitalizes messages
    assert words not in site.get("/wall/admin/policies/authorizeddomain/").content.decode()
    services.remove_domain(own, actor="alice")

    assert words in site.get("/wall/admin/policies/authorizeddomain/").content.decode()


@pytest.mark.parametrize(("language", "words"), [("en", "No domain of yours"), ("zh-hans", "您没有登记任何域名")])
def test_the_dashboard_shows_the_warning(site, own, language, words):
    url = "/wall/admin/dashboard/"
    assert words not in site.get(url, headers={"Accept-Language": language}).content.decode()
    services.remove_domain(own, actor="alice")

    assert words in site.get(url, headers={"Accept-Language": language}).content.decode()
