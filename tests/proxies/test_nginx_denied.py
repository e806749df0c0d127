"""Refusals through nginx: a browser gets a page with the reason in plain words, other clients a bare 403."""

import re

import pytest

from gatewall.install.ports import free_port
from tests.proxies.test_nginx_closed import ERROR_PAGES
from tests.support.processes import BROWSER, nginx, request, sign_in
from tests.support.upstream import Upstream

UNKNOWN = {**BROWSER, "Host": "unknown.example"}
ATTACK = "/?id=1%27%20UNION%20SELECT%20password%20FROM%20users--"
BARE = b"403 Forbidden\n"


@pytest.fixture(scope="module")
def proxy(gate, site, tmp_path_factory):
    with nginx(tmp_path_factory.mktemp("nginx"), gate=gate, site=site.port) as port:
        yield port


@pytest.fixture(scope="module")
def cookie(proxy):
    return sign_in(proxy)


@pytest.fixture
def forbidding(site):
    site.status = 403
    yield site
    site.status = 200


def test_browser_gets_a_page_and_the_status_stays(proxy, site):
    before = len(site.requests)

    answer = request(proxy, "/deep/page?a=b", UNKNOWN)

    assert (answer.status, len(site.requests)) == (403, before)
    assert answer.header("Content-Type") == "text/html; charset=utf-8"
    assert b"There is no such site here." in answer.body
    assert "default-src 'none'" in answer.header("Content-Security-Policy")
    assert answer.header("Cache-Control") == "no-store"


def test_number_on_the_page_is_the_one_of_the_decision(proxy):
    answer = request(proxy, "/", UNKNOWN)

    (number,) = answer.all("X-Gatewall-Decision-Id")
    assert re.search(r"<code>([^<]+)</code>", answer.body.decode())[1] == number


def test_page_never_names_the_rule(proxy, cookie):
    answer = request(proxy, ATTACK, {**BROWSER, "Cookie": cookie})

    assert answer.status == 403
    assert b"looks harmful" in answer.body
    assert not re.search(rb"waf|rule|sql|union", answer.body, re.IGNORECASE)


def test_page_is_in_chinese_for_a_chinese_browser(proxy):
    answer = request(proxy, "/", {**UNKNOWN, "Accept-Language": "zh-CN"})

    assert answer.header("Content-Language") == "zh-hans"
    assert "这里没有这个网站。".encode() in answer.body


def test_head_has_the_status_and_no_body(proxy):
    answer = request(proxy, "/", UNKNOWN, method="HEAD")

    assert (answer.status, answer.body) == (403, b"")


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("GET", {}),
        ("GET", {"Accept": "application/json"}),
        ("GET", {**BROWSER, "Sec-Fetch-Mode": "cors"}),
        ("POST", BROWSER),
        ("PUT", BROWSER),
    ],
)
def test_requests_other_than_page_loads_get_the_bare_status(proxy, method, headers):
    answer = request(proxy, "/", {**headers, "Host": "unknown.example"}, method=method)

    assert (answer.status, answer.body) == (403, BARE)
    assert answer.header("X-Gatewall-Decision-Id")
    assert answer.header("Cache-Control") == "no-store"


@pytest.mark.parametrize("name", ["X-Gatewall-Reason", "X_Gatewall_Reason", "x-gatewall-reason"])
@pytest.mark.parametrize(("path", "host"), [("/", "unknown.example"), ("/wall/denied", "127.0.0.1")])
def test_visitor_cannot_forge_the_text_of_the_page(proxy, path, host, name):
    forged = {name: "country-blocked", "X-Gatewall-Decision-Id": "0" * 8 + "-0000-4000-8000-" + "0" * 12}

    answer = request(proxy, path, {**BROWSER, "Host": host, **forged})

    assert answer.status == 403
    assert b"network or country" not in answer.body
    assert b"00000000-0000-4000" not in answer.body


def test_page_of_the_gate_is_not_for_the_public(proxy):
    assert request(proxy, "/_gatewall/denied", UNKNOWN).status == 403
    assert request(proxy, "/_gatewall/denied", BROWSER).body == BARE


def test_refusal_of_the_site_itself_passes_as_it_is(proxy, forbidding, cookie):
    answer = request(proxy, "/", {**BROWSER, "Cookie": cookie})

    assert (answer.status, answer.body) == (403, b"site")


def test_refusal_of_the_site_is_never_explained_as_ours(gate, forbidding, cookie, tmp_path):
    with nginx(tmp_path, gate=gate, site=forbidding.port, extra="proxy_intercept_errors on;") as port:
        answer = request(port, "/", {**BROWSER, "Cookie": cookie})

    assert (answer.status, answer.body) == (403, BARE)


@pytest.mark.parametrize("extra", ["", ERROR_PAGES])
def test_without_the_control_plane_it_is_still_403(gate, site, tmp_path, extra):
    with nginx(tmp_path, gate=free_port(), auth=f"127.0.0.1:{gate}", site=site.port, extra=extra) as port:
        answer = request(port, "/", UNKNOWN)

    assert (answer.status, answer.body) == (403, BARE)
    assert answer.header("X-Gatewall-Decision-Id")


@pytest.mark.parametrize("status", [200, 302, 400, 404, 418, 429, 500, 503])
def test_every_answer_of_the_control_plane_leaves_the_status_403(gate, site, tmp_path, status):
    with Upstream() as strange:
        strange.status = status
        with nginx(tmp_path, gate=strange.port, auth=f"127.0.0.1:{gate}", site=site.port, extra=ERROR_PAGES) as port:
            assert request(port, "/", UNKNOWN).status == 403


@pytest.mark.parametrize("headers", [{}, BROWSER])
def test_error_pages_of_the_operator_do_not_turn_refusals_into_access(gate, site, tmp_path, headers):
    pages = ERROR_PAGES + "error_page 401 =200 /sorry;"
    with nginx(tmp_path, gate=gate, site=site.port, extra=pages) as port:
        refused = request(port, "/", {**headers, "Host": "unknown.example"})
        unknown = request(port, "/", headers)

    assert (refused.status, unknown.status) == (403, 302 if headers else 401)


def test_no_credential_of_the_visitor_reaches_the_page(gate, site, tmp_path):
    sent = {"Cookie": "a=1", "Authorization": "Bearer x", "Service-License": "y", "Service-Authorization": "z"}
    with Upstream() as control:
        with nginx(tmp_path, gate=control.port, auth=f"127.0.0.1:{gate}", site=site.port) as port:
            request(port, "/a?b=c", {**UNKNOWN, **sent})
        line, arrived = control.requests[-1]

    assert line.startswith("GET /wall/denied HTTP/")
    assert [name for name in sent if name in arrived] == []
    assert arrived["X-Gatewall-Reason"] == "host-not-authorized"
    assert arrived["X-Forwarded-Uri"] == "/a?b=c"
