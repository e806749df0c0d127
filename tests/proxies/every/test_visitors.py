"""Requests of visitors through every proxy with the real gate: the answers, and the requests that the site gets."""

import base64
import json
import re
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from tests.proxies.conftest import LET_IN
from tests.proxies.every.asking import SITE, raw, shake_hands
from tests.proxies.every.kinds import SHOWS_BODIES, UNTRUSTED
from tests.support.processes import BROWSER, PASSWORD, request

UNION = "/?id=1%27%20UNION%20SELECT%20password%20FROM%20users--"
PREFLIGHT = {"Origin": "https://other.example", "Access-Control-Request-Method": "PUT"}
PROGRAMS = {
    "bare": {},
    "json": {"Accept": "application/json"},
    "XHR": {**BROWSER, "X-Requested-With": "XMLHttpRequest"},
    "fetch": {**BROWSER, "Sec-Fetch-Mode": "cors"},
}


def test_sign_in_journey(front):
    sent_away = request(front.port, "/reports?year=2026&q=a%20b", BROWSER)
    guard = urlsplit(sent_away.header("Location"))
    back = f"http://127.0.0.1:{front.port}/reports?year=2026&q=a%20b"
    assert (sent_away.status, guard.netloc, guard.path) == (302, f"127.0.0.1:{front.port}", "/wall/")
    assert parse_qs(guard.query)["rd"] == [back]

    page = request(front.port, f"{guard.path}?{guard.query}", BROWSER)
    assert (page.status, b'name="password"' in page.body) == (200, True)

    form = urlencode({"username": "admin", "password": PASSWORD, "rd": back})
    signed_in = request(front.port, "/wall/", method="POST", body=form)
    assert (signed_in.status, signed_in.header("Location")) == (303, back)

    session = signed_in.header("Set-Cookie").partition(";")[0]
    there = request(front.port, "/reports?year=2026&q=a%20b", {**BROWSER, "Cookie": session})
    assert (there.status, there.body) == (200, SITE)
    assert front.site.last["Remote-User"] == "admin"
    assert front.served().uri == "/reports?year=2026&q=a%20b"


def test_form_without_a_session_is_sent_to_the_guard_page_as_303(front):
    assert request(front.port, "/form", BROWSER, method="POST", body="a=1").status == 303


@pytest.mark.parametrize("headers", PROGRAMS.values(), ids=PROGRAMS)
def test_program_without_a_credential_gets_401(front, headers):
    answer = request(front.port, "/", headers)

    assert answer.status == 401
    assert answer.header("WWW-Authenticate").startswith("Gatewall ")
    assert answer.header("X-Gatewall-Decision-Id")


def test_git_without_a_token_gets_a_basic_challenge(front):
    answer = request(front.port, "/repo.git/info/refs?service=git-upload-pack", {"User-Agent": "git/2.47"})

    assert (answer.status, answer.all("WWW-Authenticate")) == (401, ['Basic realm="Gatewall"'])


def test_refused_browser_gets_a_page_with_the_decision_id(front):
    before = len(front.site.requests)

    answer = request(front.port, "/", {**BROWSER, "Host": "unknown.example"})

    (number,) = answer.all("X-Gatewall-Decision-Id")
    assert (answer.status, len(front.site.requests)) == (403, before)
    assert answer.header("Content-Type") == "text/html; charset=utf-8"
    assert "default-src 'none'" in answer.header("Content-Security-Policy")
    assert re.search(r"<code>([^<]+)</code>", answer.body.decode())[1] == number


def test_refused_program_gets_403_and_no_page(front):
    answer = request(front.port, "/", {"Host": "unknown.example"})

    assert (answer.status, b"<" in answer.body) == (403, False)
    assert answer.header("X-Gatewall-Decision-Id")


def test_attack_in_the_address_is_refused_before_the_site_sees_it(front, cookie):
    before = len(front.site.requests)

    assert request(front.port, UNION, {"Cookie": cookie}).status == 403
    assert len(front.site.requests) == before


def test_attack_in_a_body_is_refused_before_the_site_sees_it(front, cookie):
    before = len(front.site.requests)

    answer = request(
        front.port, "/", {"Cookie": cookie}, method="POST", body="id=1' UNION SELECT password FROM users--"
    )

    if front.kind in SHOWS_BODIES:
        assert (answer.status, len(front.site.requests)) == (403, before)
    else:
        assert answer.status == 200


def test_site_gets_the_identity_and_the_visitor_gets_the_decision_id(front, cookie):
    answer = request(front.port, "/", {**BROWSER, "Cookie": cookie})

    arrived = front.site.last
    assert (arrived["Remote-User"], arrived["X-Gatewall-Subject-Kind"]) == ("admin", "user")
    assert arrived["X-Gatewall-Decision-Id"]
    ids = answer.all("X-Gatewall-Decision-Id")
    assert ids == ([] if front.kind in {"Traefik", "Envoy Gateway"} else [arrived["X-Gatewall-Decision-Id"]])


@pytest.mark.parametrize("name", ["Service-Authorization", "Service-Git-Token", "Service-License"])
def test_our_credential_header_is_removed(front, cookie, name):
    request(front.port, "/", {"Cookie": cookie, name: "a:b"})

    assert front.site.last[name] is None


CUT = {
    "alone": ("{ours}", None),
    "first": ("{ours}; a=1", "a=1"),
    "last": ("a=1; {ours}", "a=1"),
    "middle": ("a=1;{ours};b=2", "a=1;b=2"),
    "thrice": ("a=1; {ours}; service.token=x; service.token = y; b=2", "a=1; b=2"),
    "names like it": ("myservice.token=1; {ours}; service.tokens=2", "myservice.token=1; service.tokens=2"),
}


@pytest.mark.parametrize(("sent", "arrives"), CUT.values(), ids=CUT)
def test_session_cookie_is_removed_and_others_stay(front, cookie, sent, arrives):
    answer = request(front.port, "/", {"Cookie": sent.format(ours=cookie)})

    assert answer.status == 200
    assert (front.site.last["Cookie"] or None) == arrives


def test_session_cookie_in_a_header_of_its_own_is_removed(front, cookie):
    lines = [b"Host: public.example", b"Cookie: a=1", b"Cookie: " + cookie.encode(), b"Cookie: b=2"]

    answer = raw(front.port, b"GET / HTTP/1.1", lines)

    arrived = "; ".join(front.site.last.get_all("Cookie"))
    assert (answer.status, "service.token" in arrived, "a=1" in arrived) == (200, False, True)


def test_git_token_lets_in_and_is_removed(front, git_token):
    basic = base64.b64encode(f"admin:{git_token}".encode()).decode()

    answer = request(front.port, "/repo.git/info/refs", {"User-Agent": "git/2.47", "Authorization": f"Basic {basic}"})

    assert answer.status == 200
    assert not front.site.last["Authorization"]
    assert front.site.last["X-Gatewall-Subject-Kind"] == "git-token"


@pytest.mark.parametrize("value", ["Bearer the-site's-own", "Basic " + base64.b64encode(b"u:hunter2").decode()])
def test_authorization_for_the_site_arrives(front, cookie, value):
    request(front.port, "/", {"Cookie": cookie, "Authorization": value})

    assert front.site.last["Authorization"] == value


HIDDEN = ("/wall/auth", "/wall/auth?x=1", "/wall/auth/forward", "/wall/auth/envoy/a", "/wall/auth/original-url")
HIDDEN += ("/wall/metrics", "/wall/admin-recover-2fa")
DISGUISED = (
    "/wall/%61uth",
    "/wall/%61uth/forward",
    "/wall/./auth",
    "/wall//auth",
    "/x/../wall/auth",
    "/wall/x/../auth",
)
DISGUISED += ("/%77all/auth", "//wall/auth", "/wall/auth;x=1", "/wall/m%65trics", "/wall/auth%2fforward", "/WALL/auth")
DISGUISED += ("/wall/auth/envoy/../../x", "/wall/auth/envoy/..%2f..%2fx", "/wall/auth/envoy/%2e%2e/..%2fx?y")


@pytest.mark.parametrize("path", HIDDEN)
def test_internal_paths_are_404(front, cookie, path):
    assert request(front.port, path, {"Cookie": cookie}).status == 404
    assert request(front.port, "/wall/authorized-domains").status == 401  # a path that only begins like a hidden one


@pytest.mark.parametrize("path", DISGUISED)
def test_internal_paths_are_never_reached_by_another_spelling(front, cookie, path):
    answer = request(front.port, path, {"Cookie": cookie})

    assert answer.status in {400, 403, 404} or answer.body == SITE or answer.status // 100 == 3
    assert not answer.header("X-Gatewall-Reason")


@pytest.mark.parametrize("path", ["/wall/health", "/wall/health/live", "/wall/health/ready"])
def test_stranger_sees_no_details_of_health(front, path):
    lines = [b"Host: public.example", b"X-Forwarded-For: 127.0.0.1", b"Forwarded: for=127.0.0.1"]

    answer = raw(front.port, f"GET {path} HTTP/1.1".encode(), lines, source="127.0.0.2")

    assert (answer.status, json.loads(answer.body)) == (200, {"status": "ok"})


def test_head_has_no_body_and_is_judged_like_get(front, cookie):
    seen = request(front.port, "/", {"Cookie": cookie}, method="HEAD")
    unseen = request(front.port, "/", BROWSER, method="HEAD")

    assert (seen.status, seen.body, front.served().method) == (200, b"", "HEAD")
    assert (unseen.status, unseen.body) == (302, b"")


def test_post_reaches_the_site_with_its_body(front, cookie):
    answer = request(front.port, "/form", {"Cookie": cookie}, method="POST", body="a=1&b=2")

    assert (answer.status, front.served().method, front.site.bodies[-1]) == (200, "POST", b"a=1&b=2")


def test_upload_arrives_whole_unless_the_waf_would_have_to_inspect_too_much_of_it(front, cookie):
    body = "a=" + "b" * 300_000
    before = len(front.site.requests)

    answer = request(front.port, "/form", {"Cookie": cookie}, method="POST", body=body)

    if front.kind in SHOWS_BODIES:
        assert (answer.status, len(front.site.requests)) == (403, before)
    else:
        assert (answer.status, front.site.bodies[-1]) == (200, body.encode())


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_method_is_judged_and_served(front, cookie, method):
    assert request(front.port, "/", {"Cookie": cookie}, method=method).status == 200
    assert front.served().method == method
    assert request(front.port, "/", method=method).status == 401


def test_cors_preflight_needs_a_credential_like_any_request(front, cookie):
    stranger = request(front.port, "/", PREFLIGHT, method="OPTIONS")
    known = request(front.port, "/", {**PREFLIGHT, "Cookie": cookie}, method="OPTIONS")
    public = request(front.port, "/", {**PREFLIGHT, "Host": "public.example"}, method="OPTIONS")

    assert (stranger.status, known.status, public.status) == (401, 200, 200)
    assert front.served().method == "OPTIONS"


def test_websocket_of_a_signed_in_visitor_is_open(front, cookie):
    assert shake_hands(front.port, {"Cookie": cookie}) == (101, b"hello")


@pytest.mark.parametrize("headers", [{}, {"Sec-Fetch-Mode": "websocket"}, BROWSER], ids=["bare", "browser", "Accept"])
def test_websocket_without_a_session_gets_401(front, headers):
    before = len(front.site.requests)

    assert shake_hands(front.port, headers) == (401, b"")
    assert len(front.site.requests) == before


def test_session_at_the_end_of_a_long_cookie_header_is_found(front, cookie):
    long = "a=" + "b" * (7_900 - len(cookie)) + "; " + cookie

    assert request(front.port, "/", {"Cookie": long}).status == 200
    assert front.site.last["Cookie"] == long.removesuffix(f"; {cookie}")


@pytest.mark.parametrize("address", [name for name in UNTRUSTED if "Ip" in name or "For" in name] + ["X_Forwarded_For"])
def test_visitor_cannot_choose_an_address_that_is_let_in(front, address):
    value = f"for={LET_IN}" if address == "Forwarded" else LET_IN

    assert request(front.port, "/", {address: value}).status == 401
