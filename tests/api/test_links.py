"""Links in responses have the scheme and the host under which the caller reached the API."""

import pytest
from django.test import Client

from gatewall.kernel.clientip import TrustedProxies
from tests.support.cast import NOW, OFFICE
from tests.support.moments import in_hours
from tests.support.proxies import enter_admin_site
from tests.support.records import a_record

pytestmark = pytest.mark.django_db
BEHIND_TLS = {"Host": OFFICE, "X-Forwarded-Proto": "https"}


def links(admin, log, sent):
    """Return the links of a list and of the log to their other pages."""
    log(*(a_record(n, at=NOW + n) for n in range(2)))
    page = admin.get("/waf-rules?page=2&page_size=1", headers=sent).json()
    return page["next"], page["previous"], admin.get("/access-logs?page_size=1", headers=sent).json()["next"]


@pytest.fixture(autouse=True)
def three_rules(admin):
    for name in "abc":
        assert admin.post("/waf-rules", {"name": name, "pattern": name}).status_code == 201


def test_pages_behind_a_proxy_with_tls_have_https_links(admin, log):
    for link in links(admin, log, BEHIND_TLS):
        assert link.startswith(f"https://{OFFICE}/wall/")


def test_browsable_pages_behind_a_proxy_with_tls_have_https_links(alice):
    browser = Client(headers={**BEHIND_TLS, "Accept": "text/html"})
    enter_admin_site(browser, alice)

    page = browser.get("/wall/waf-rules?page=2&page_size=1").content.decode()

    assert f'href="https://{OFFICE}/wall/waf-rules?page=3' in page
    assert "http://" + OFFICE not in page


@pytest.mark.parametrize("scheme", ["ftp", "https,http", ""])
def test_an_invalid_forwarded_scheme_is_ignored(admin, log, scheme):
    for link in links(admin, log, BEHIND_TLS | {"X-Forwarded-Proto": scheme}):
        assert link.startswith(f"http://{OFFICE}/wall/")


def test_the_forwarded_scheme_of_an_untrusted_peer_is_ignored(admin, log, settings):
    settings.GATEWALL_TRUSTED_PROXIES = TrustedProxies.parse([])

    for link in links(admin, log, BEHIND_TLS):
        assert link.startswith(f"http://{OFFICE}/wall/")


def test_a_share_link_behind_a_proxy_with_tls_is_https(admin):
    assert admin.post("/authorized-domains", {"name": OFFICE}).status_code == 201
    sent = {"name": "guest", "domain": OFFICE, "expires_at": in_hours(1)}

    link = admin.post("/share-links", sent, headers=BEHIND_TLS).json()["link"]

    assert link.startswith(f"https://{OFFICE}/")
