"""Real nginx with the unchanged snippets of deploy/nginx, between the real Gatewall and a stub site.

The same tests for each asked plane: the control plane, the data plane on a port, and on a unix socket. What every proxy
must do, nginx among them, is in `tests/proxies/every`.
"""

import base64
import re
import socket
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.proxies.conftest import LET_IN
from tests.support.processes import BROWSER, PATIENCE, api, nginx, request, wait_until
from tests.support.upstream import Upstream


@pytest.fixture(scope="module")
def git_token(gate, proxy):
    token = api(gate, "/users/1/git-tokens", name=f"laptop {proxy}")["token"]
    wait_until(lambda: request(proxy, "/", {"Service-Git-Token": f"admin:{token}"}).status == 200, what="the token")
    return token


def test_browser_without_a_session_is_sent_to_the_guard_page_and_back(proxy):
    answer = request(proxy, "/reports?year=2026&q=a%20b", BROWSER)

    guard = urlsplit(answer.header("Location"))
    assert answer.status == 302
    assert (guard.netloc, guard.path) == (f"127.0.0.1:{proxy}", "/wall/")
    assert parse_qs(guard.query)["rd"] == [f"http://127.0.0.1:{proxy}/reports?year=2026&q=a%20b"]
    assert answer.header("X-Gatewall-Decision-Id")


def test_guard_page_is_shown_through_the_proxy(proxy):
    answer = request(proxy, urlsplit(request(proxy, "/", BROWSER).header("Location")).path, BROWSER)

    assert answer.status == 200
    assert b'name="password"' in answer.body


def test_signed_in_visitor_reaches_the_site_with_their_identity(proxy, site, cookie):
    answer = request(proxy, "/", {**BROWSER, "Cookie": cookie})

    assert (answer.status, answer.body) == (200, b"site")
    assert (site.last["Remote-User"], site.last["X-Gatewall-Subject-Kind"]) == ("admin", "user")
    assert answer.all("X-Gatewall-Decision-Id") == [site.last["X-Gatewall-Decision-Id"]]


@pytest.mark.parametrize("name", ["Remote-User", "remote-user", "Remote_User", "Remote.User"])
def test_identity_header_of_a_visitor_never_arrives(proxy, site, cookie, name):
    request(proxy, "/", {"Cookie": cookie, name: "root"})

    arrived = {key.lower().replace("_", "-").replace(".", "-"): value for key, value in site.last.items()}
    assert arrived["remote-user"] == "admin"
    assert "root" not in site.last.values()


@pytest.mark.parametrize(
    ("sent", "arrives"),
    [
        ("{ours}", None),
        ("{ours}; a=1", "a=1"),
        ("a=1; {ours}", "a=1"),
        ("a=1;{ours};b=2", "a=1;b=2"),
        ("a=1; {ours}; service.token=x; service.token = y; b=2", "a=1; b=2"),
        ("myservice.token=1; {ours}; service.tokens=2", "myservice.token=1; service.tokens=2"),
        ("{ours}; " + "service.token=x; " * 9 + "a=1", None),
    ],
)
def test_session_cookie_is_removed_and_others_stay(proxy, site, cookie, sent, arrives):
    answer = request(proxy, "/", {"Cookie": sent.format(ours=cookie)})

    assert answer.status == 200
    assert site.last["Cookie"] == arrives


@pytest.mark.parametrize("user", ["admin", "Admin", "ADMIN"])
def test_git_token_lets_in_and_is_removed(proxy, site, git_token, user):
    basic = base64.b64encode(f"{user}:{git_token}".encode()).decode()

    answer = request(proxy, "/repo.git/info/refs", {"User-Agent": "git/2.47", "Authorization": f"Basic {basic}"})

    assert answer.status == 200
    assert site.last["Authorization"] is None
    assert site.last["X-Gatewall-Subject-Kind"] == "git-token"


@pytest.mark.parametrize("length", range(6))
def test_basic_authorization_is_removed_only_if_it_has_a_git_token(proxy, site, cookie, length):
    for password, arrives in (("gwg_" + "abc" * 11, False), ("hunter2", True)):
        basic = "Basic " + base64.b64encode(f"{'u' * length}:{password}".encode()).decode()

        request(proxy, "/", {"Cookie": cookie, "Authorization": basic})

        assert site.last["Authorization"] == (basic if arrives else None)


@pytest.mark.parametrize("path", ["/wall/auth", "/wall/metrics", "/_gatewall/auth"])
def test_internal_paths_are_404_for_a_signed_in_visitor(proxy, cookie, path):
    assert request(proxy, path, {"Cookie": cookie}).status == 404


def test_refusal_keeps_its_status_and_names_the_decision(proxy, site):
    before = len(site.requests)

    answer = request(proxy, "/", {**BROWSER, "Host": "unknown.example"})

    assert answer.status == 403
    assert answer.header("X-Gatewall-Decision-Id")
    assert len(site.requests) == before


@pytest.mark.parametrize("name", ["X-Forwarded-For", "X-Real-IP", "Forwarded", "X_Forwarded_For", "X-Client-IP"])
def test_visitor_cannot_choose_an_address_that_is_let_in(proxy, name):
    address = {"Forwarded": f"for={LET_IN}"}.get(name, LET_IN)

    assert request(proxy, "/", {name: address}).status == 401


def test_the_gate_judges_the_host_that_nginx_serves(proxy):
    with socket.create_connection(("127.0.0.1", proxy), timeout=PATIENCE) as connection:
        connection.sendall(b"GET http://127.0.0.1/ HTTP/1.1\r\nHost: public.example\r\nConnection: close\r\n\r\n")
        status = connection.makefile("rb").readline().split()[1]

    assert status == b"401"


def test_id_of_a_request_is_never_one_that_the_visitor_chose(proxy):
    answer = request(proxy, "/wall/", {**BROWSER, "X-Request-Id": "chosen"})

    (id_,) = answer.all("X-Request-Id")
    assert re.fullmatch("[0-9a-f]{32}", id_)  # the form of nginx's request ids
    assert answer.status == 200


def test_request_id_of_a_visitor_does_not_reach_the_gate(site, tmp_path):
    with Upstream() as gate, nginx(tmp_path, gate=gate.port, site=site.port) as port:
        for path in ("/", "/wall/"):
            request(port, path, [("X-Request-Id", "chosen"), ("X-Request-Id", "again")])

    assert [line.split()[1].partition("?")[0] for line, _ in gate.requests] == ["/wall/auth", "/wall/"]
    for _, arrived in gate.requests:
        (id_,) = arrived.get_all("X-Request-Id")
        assert re.fullmatch("[0-9a-f]{32}", id_)


@pytest.mark.parametrize("asked", ["data plane on a unix socket"], indirect=True)
def test_connections_to_a_unix_socket_are_kept(asked, proxy, cookie):
    for _ in range(20):
        assert request(proxy, "/", {"Cookie": cookie}).status == 200

    lines = Path("/proc/net/unix").read_text().splitlines()
    connected = [line for line in lines if line.endswith(asked.removeprefix("unix:")) and line.split()[5] == "03"]
    assert 1 <= len(connected) <= 4
