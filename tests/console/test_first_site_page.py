"""The page for protecting a site: its host, the lines for the proxy, and the doctor."""

import re
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest

from gatewall.policy import system_settings
from gatewall.proxy_config.rendering import KINDS
from policies import services
from policies.models import AuthorizedDomain

PAGE = "/first-site/"
SITE = {"site": "app.example.com", "access": "authenticated", "proxy": "nginx", "upstream": "127.0.0.1:3000"}


def shown(pages, **values):
    response = pages.submit(PAGE, **{**SITE, **values})
    return pages.client.get(response.headers["Location"]) if response.status_code == 302 else response


def test_only_admins_see_the_page(client, bob):
    assert client.get("/wall/admin/first-site/").status_code == 302
    client.force_login(bob)
    assert client.get("/wall/admin/first-site/").status_code == 302


def test_the_page_registers_a_site_and_shows_the_next_step(pages):
    page = shown(pages, access="two_factor")

    domain = AuthorizedDomain.objects.get(name="app.example.com")
    assert (domain.access, domain.created_by) == ("two_factor", "alice")
    assert system_settings.current().authorized_domains_mode == "registered"
    assert page.status_code == 200
    assert "app.example.com is registered." in page.text
    doctor = urlsplit(unescape(page.text.partition('class="button" href="')[2].partition('"')[0]))
    assert doctor.path == "/wall/admin/doctor/"
    assert parse_qs(doctor.query) == {
        "proxy": ["nginx"],
        "url": ["http://app.example.com/"],
        "upstream": ["127.0.0.1:3000"],
    }


@pytest.mark.parametrize("kind", KINDS)
def test_the_lines_are_those_of_the_proxy_with_the_site_and_its_address(pages, kind):
    page = shown(pages, proxy=kind)
    texts = [file.text for file in page.context["files"]]

    assert any("app.example.com" in text for text in texts)
    assert kind in {"envoy-gateway", "ingress-nginx"} or any("3000" in text for text in texts)
    assert f"gatewall proxy-config {kind} --site app.example.com --upstream 127.0.0.1:3000" in page.text


def test_nginx_proxy_manager_gets_the_lines_of_its_how_to_page(pages, settings):
    settings.GATEWALL_PUBLIC_URL, settings.GATEWALL_PORT = "https://wall.example.com", 9999
    text = (settings.BASE_DIR / "docs/proxies/nginx-proxy-manager.md").read_text()
    top, site = re.findall(r"^```nginx\n(.*?)^```", text, re.DOTALL | re.MULTILINE)

    page = shown(pages, proxy="nginx-proxy-manager")
    files = {file.name: file.text for file in page.context["files"]}

    assert files["data/nginx/custom/http_top.conf"] == top
    assert files["advanced-of-the-site.conf"] == site
    guard = files["advanced-of-the-guard-page.conf"].splitlines()
    assert guard == [*(site.splitlines()[number] for number in (0, 2)), "location / { return 302 /wall/; }"]
    assert "gatewall proxy-config nginx --site app.example.com" in page.text
    assert "leads to http, gatewall, 9999." in page.text
    assert "/wall/admin/doctor/?proxy=nginx&amp;" in page.text
    settings.GATEWALL_PUBLIC_URL, settings.GATEWALL_PORT = "https://app.example.com", 19999
    assert "leads to http, gatewall, 19999." in shown(pages, proxy="nginx-proxy-manager").text
    assert len(shown(pages, proxy="nginx-proxy-manager").context["files"]) == len(files) - 1


def test_a_site_that_is_registered_already_is_changed(pages):
    shown(pages)
    shown(pages, access="two_factor")

    assert AuthorizedDomain.objects.get(name="app.example.com").access == "two_factor"


@pytest.mark.parametrize(("before", "after"), [("authenticated", "public"), ("two_factor", "authenticated")])
def test_opening_a_registered_site_to_more_people_needs_confirmation(pages, before, after):
    shown(pages, access=before)
    page = shown(pages, access=after)

    assert page.status_code == 409
    assert AuthorizedDomain.objects.get(name="app.example.com").access == before
    assert f'name="instead_of" value="app.example.com {before}"' in page.text
    assert shown(pages, access=after, instead_of=f"tv.example.com {before}").status_code == 409
    assert shown(pages, access=after, instead_of=f"app.example.com {before}").status_code == 200
    assert AuthorizedDomain.objects.get(name="app.example.com").access == after


def test_the_preselected_access_does_not_open_a_denied_site(pages):
    services.register_domain(actor="alice", name="app.example.com", access="denied")

    assert "app.example.com is registered already, and fewer people may enter" in shown(pages).text
    assert AuthorizedDomain.objects.get(name="app.example.com").access == "denied"


def test_the_page_warns_of_a_site_that_the_cookie_does_not_reach(pages, settings):
    settings.GATEWALL_PUBLIC_URL = "https://wall.example.com"
    assert "The session cookie is for wall.example.com alone." in shown(pages, site="wall.example.com").text
    assert "The session cookie is for example.com and every host below it." in shown(pages).text
    page = shown(pages, site="app.example.org")

    assert "Browsers will not send the session cookie to app.example.org" in page.text
    assert "GATEWALL_PUBLIC_URL=https://wall.example.com,https://wall.example.org" in page.text


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *[("site", value) for value in ("", "https://app.example.com/", "app.example.com:80", "a b", "<script>")],
        *[("upstream", value) for value in ("", "3000", "http://127.0.0.1:3000", "a;b:1")],
        *[("access", value) for value in ("", "denied", "x")],
        *[("proxy", value) for value in ("", "iis")],
    ],
)
def test_invalid_values_are_refused_and_change_nothing(pages, field, value):
    page = shown(pages, **{field: value})

    assert page.status_code == 400
    assert "<script>" not in page.text
    assert not AuthorizedDomain.objects.filter(created_by="alice").exists()


def test_invalid_parameters_of_the_page_are_refused(pages):
    assert pages.client.get("/wall/admin/first-site/?site=a%20b&proxy=x").status_code == 400
