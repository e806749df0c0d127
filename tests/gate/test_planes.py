"""The shared suite: both planes give the same answer to the same request, in all four dialects."""

import base64

import pytest

from accounts import services as accounts
from policies import services
from tests.support.cast import CLIENT, OFFICE
from tests.support.dialects import EVERY_HIGH, HIGH, Question
from tests.support.proxies import a_git_token, a_license, a_token, an_api_token, an_app_token

pytestmark = pytest.mark.django_db
HTML = ("Accept", "text/html,*/*;q=0.8")
IDENTITY = ("remote-user", "remote-email", "remote-groups", "x-gatewall-subject-kind")
BROWSERS = {"forward", "envoy"}


def session(user):
    return ("Service-Authorization", a_token(user))


def identity(answer):
    return tuple(answer.headers[name] for name in IDENTITY)


# Allow, challenge, deny.


@pytest.mark.smoke
def test_a_session_passes(plane, visit, bob):
    assert plane(visit().plus(session(bob))).verdict == (200, "session-valid")


def test_a_session_in_its_cookie_passes(plane, visit, bob):
    assert plane(visit().plus(("Cookie", f"a=1; service.token={a_token(bob)}"))).verdict == (200, "session-valid")


@pytest.mark.smoke
def test_a_git_token_passes(plane, visit, bob):
    assert plane(visit().plus(("Service-Git-Token", f"Bob:{a_git_token(bob)}"))).verdict == (200, "git-token-valid")


def test_an_app_token_passes(plane, visit, bob):
    sent = ("Authorization", f"Bearer {an_app_token(bob)}")
    assert plane(visit().plus(sent)).verdict == (200, "app-token-valid")


def test_a_license_passes(plane, visit):
    assert plane(visit().plus(("Service-License", a_license()))).verdict == (200, "license-valid")


@pytest.mark.smoke
def test_a_visitor_without_a_credential_is_challenged(plane, visit):
    answer = plane(visit())

    assert answer.verdict == (401, "credential-missing")
    assert answer.headers["www-authenticate"].startswith("Gatewall realm=")


@pytest.mark.smoke
def test_a_blocked_client_is_denied(plane, visit, bob):
    services.block_network(actor="alice", network=CLIENT)

    assert plane(visit().plus(session(bob))).verdict == (403, "client-blocked")


def test_an_allowed_client_passes(plane, visit):
    services.allow_network(actor="alice", network=CLIENT)

    assert plane(visit()).verdict == (200, "client-allowed")


def test_a_user_out_of_scope_is_denied(plane, visit, charlie):
    assert plane(visit().plus(session(charlie))).verdict == (200, "session-valid")
    services.register_domain(actor="alice", name="files.example", access="authenticated")

    assert plane(visit(host="files.example").plus(session(charlie))).verdict == (403, "host-not-in-scope")


@pytest.mark.smoke
def test_a_rule_refuses_a_matching_uri(plane, visit, bob):
    services.create_waf_rule(actor="alice", name="root", pattern="^/a%2e%2E/attack")

    assert plane(visit(uri="/a%2e%2E/attack").plus(session(bob))).verdict == (403, "waf-rule")


def test_a_disabled_user_is_challenged(plane, visit, bob):
    token = session(bob)
    assert plane(visit().plus(token)).status == 200

    accounts.change_user(bob, is_active=False, actor="alice")

    assert plane(visit().plus(token)).verdict == (401, "credential-invalid")


# Identity.


def test_a_user_is_named_to_the_site(plane, visit, alice):
    assert identity(plane(visit().plus(session(alice)))) == ("alice", "alice@office.example", "admins", "user")


def test_without_a_user_every_identity_header_is_empty(plane, visit):
    services.allow_network(actor="alice", network=CLIENT)

    answer = plane(visit().plus(("Remote-User", "admin"), ("X-Gatewall-Subject-Kind", "user")))

    assert identity(answer) == ("", "", "", "client")


# Methods.


@pytest.mark.parametrize("signed_in", [True, False])
def test_head_is_answered_like_get(plane, visit, dialect, bob, signed_in):
    question = visit().plus(HTML, *([session(bob)] if signed_in else []))

    get, head = (plane(Question(question.target, question.lines, verb)) for verb in ("GET", "HEAD"))

    assert (head.status, head.headers, head.body) == (get.status, get.headers, "")


def test_other_methods_are_allowed_only_for_envoy(plane, visit, dialect, bob):
    question = visit().plus(session(bob))

    for verb in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND"):
        answer = plane(Question(question.target, question.lines, verb))

        assert answer.status == (200 if dialect == "envoy" else 405), verb
        assert dialect == "envoy" or answer.headers["allow"] == "GET, HEAD", verb
        assert answer.headers["x-content-type-options"] == "nosniff", verb
        assert answer.request_id, verb


@pytest.mark.parametrize("path", ["/wall/nothing", "/wall/health", "/wall/health/live", "/elsewhere"])
def test_other_answers_of_the_data_plane_have_request_id_and_nosniff(new_plane, path):
    answer = new_plane("data")(Question(path, ()))

    assert (answer.request_id != "", answer.headers["x-content-type-options"]) == (True, "nosniff")


# Browsers.


@pytest.mark.parametrize(("method", "status"), [("GET", 302), ("POST", 303)])
def test_a_browser_is_sent_to_the_guard_page_where_it_sees_the_answer(plane, visit, dialect, office, method, status):
    answer = plane(visit(method=method, uri="/wiki?a=b").plus(HTML))

    assert answer.status == (status if dialect in BROWSERS else 401)
    assert answer.headers["location"] == "https://office.example/wall/?rd=https%3A%2F%2Foffice.example%2Fwiki%3Fa%3Db"


@pytest.mark.parametrize(
    "line", [("Accept", "application/json"), ("X-Requested-With", "XMLHttpRequest"), ("Sec-Fetch-Mode", "cors")]
)
def test_a_script_request_is_never_redirected(plane, visit, line):
    assert plane(visit().plus(HTML).header(*line)).status == 401


def test_a_browser_that_is_refused_gets_a_page_where_it_sees_the_answer(plane, visit, dialect):
    services.block_network(actor="alice", network=CLIENT)

    answer = plane(visit().plus(HTML))

    assert answer.verdict == (403, "client-blocked")
    assert ("the-id" in answer.body) is (dialect in BROWSERS)
    assert "client-blocked" not in answer.body


# Bytes.


VISITORS = ("User-Agent", "Referer", "Accept", "X-Anything", "Cookie", "Upgrade", "Sec-Fetch-Mode", "Content-Type")
CREDENTIALS = ("Service-Authorization", "Service-Git-Token", "Service-License", "Authorization")


def test_high_bytes_in_any_header_of_the_visitor_pass_on_both_planes(both, visit, bob):
    token = session(bob)

    answers = {both(visit().plus(token, (name, byte))).verdict for name in VISITORS for byte in (*HIGH, EVERY_HIGH)}

    assert answers == {(200, "session-valid")}


def test_a_credential_of_high_bytes_is_invalid_on_both_planes(both, visit):
    answers = {both(visit().plus((name, f"Bob:{byte}"))).status for name in CREDENTIALS for byte in (*HIGH, EVERY_HIGH)}

    assert answers == {401}


@pytest.mark.parametrize("dialect", ["auth", "forward", "original-url"])  # Envoy: in the request line
def test_each_high_byte_in_the_uri_passes_on_both_planes(both, visit, office):
    for byte in HIGH:
        answer = both(visit(uri=f"/{byte}?q={byte}"))
        assert answer.status == 401
        assert f"%2F%{ord(byte):02X}%3Fq%3D%{ord(byte):02X}" in answer.headers["location"]


USUAL = {"client": CLIENT, "host": OFFICE, "proto": "https"}


@pytest.mark.parametrize("part", USUAL)
def test_each_high_byte_where_none_can_be_is_malformed_on_both_planes(both, visit, part):
    answers = {both(visit(**{part: USUAL[part] + byte})).verdict for byte in HIGH}

    assert answers == {(403, "request-malformed")}


@pytest.mark.parametrize("dialect", ["auth", "forward", "original-url"])
def test_each_high_byte_in_the_method_is_malformed_on_both_planes(both, visit):
    assert {both(visit(method=f"GET{byte}")).verdict for byte in HIGH} == {(403, "request-malformed")}


ODD_AUTHORITIES = [
    *(f"{OFFICE} ", f" {OFFICE}", f"{OFFICE}\t", f"\t{OFFICE}", "office. example", f"{OFFICE} :443", f"{OFFICE}: 443"),
    *(f"bob@{OFFICE}", f"bob:x@{OFFICE}", f"{OFFICE}\\", f"{OFFICE}\\@evil.example", f"{OFFICE}:", f"{OFFICE}%20"),
    *("%6fffice.example", f"{OFFICE}?", f"{OFFICE}?x", f"{OFFICE};", f"{OFFICE}:0", f"{OFFICE}:80:80", f"{OFFICE}\x85"),
]


@pytest.mark.parametrize("dialect", ["original-url"])
def test_a_url_with_an_authority_that_readers_may_disagree_about_is_malformed(both, visit, bob):
    services.allow_network(actor="alice", network=CLIENT)
    found = {authority: both(visit(host=authority).plus(session(bob))).verdict for authority in ODD_AUTHORITIES}

    assert found == dict.fromkeys(ODD_AUTHORITIES, (403, "request-malformed"))


@pytest.mark.parametrize("dialect", ["auth", "forward", "envoy"])
def test_only_white_space_around_a_host_header_is_ignored(both, visit, bob):
    services.allow_network(actor="alice", network=CLIENT)
    found = {authority: both(visit(host=authority).plus(session(bob))).verdict for authority in ODD_AUTHORITIES}

    for authority, verdict in found.items():
        is_host = authority.strip(" \t") == OFFICE  # RFC 9110, 5.5: surrounding white space is not part of the value
        assert verdict == ((200, "client-allowed") if is_host else (403, "request-malformed")), authority


@pytest.mark.parametrize("uri", ["https://office.example/", "http://evil.example/a", "\\\\evil.example/", "", " /a b"])
@pytest.mark.parametrize("dialect", ["auth", "forward"])
def test_a_uri_in_absolute_form_is_malformed(both, visit, bob, uri):
    expected = (200, "session-valid") if uri.strip(" ").startswith("/") else (403, "request-malformed")

    assert both(visit(uri=uri).plus(session(bob))).verdict == expected


RAW = [
    "/a%2fb", "//a", "/a//b", "/a/../b", "/..;/a", "/a;v=1", "/%00", "/a?b?c", "/a?", "/a??", "/?", "/a,b", "/%zz",
    "/a\\b", "/a%23", "/@evil.test", "//evil.test/", "/%2e%2e/", "/wall/auth", "/a:b", "/a?x=/auth",
]  # fmt: skip


def test_a_raw_uri_is_the_same_on_both_planes(both, visit, office):
    for uri in RAW:
        answer = both(visit(uri=uri))

        assert answer.status == 401, uri
        home = "https://office.example/wall/?rd=https%3A%2F%2Foffice.example%2F"
        assert answer.headers["location"].startswith(home), uri


def test_a_fragment_is_malformed_on_both_planes(both, visit, bob):
    services.allow_network(actor="alice", network=CLIENT)

    assert both(visit(uri="/public#/private").plus(session(bob))).verdict == (403, "request-malformed")


@pytest.mark.parametrize("part", ["host", "proto", "method", "uri"])
@pytest.mark.parametrize("dialect", ["auth", "forward"])
def test_a_header_that_was_sent_empty_is_malformed_on_both_planes(both, visit, bob, part):
    question = visit().plus(session(bob)).header(f"X-Forwarded-{part.title()}", "")

    assert both(question).verdict == (403, "request-malformed")


def test_a_browser_whose_request_is_malformed_gets_a_page_where_it_sees_the_answer(plane, visit, dialect):
    answer = plane(visit(uri="/a#b").plus(HTML))

    assert answer.verdict == (403, "request-malformed")
    assert ("the-id" in answer.body) is (dialect in BROWSERS)


def test_an_api_token_opens_nothing(plane, visit, alice):
    token = an_api_token(alice)
    basic = base64.b64encode(f"alice:{token}".encode()).decode()
    ways = {
        "Authorization": [f"Bearer {token}", f"Basic {basic}", token],
        "Service-Authorization": [token, f"Bearer {token}"],
        "Service-Git-Token": [f"alice:{token}", token],
        "Service-License": [token],
        "Cookie": [f"service.token={token}"],
    }

    answers = {(name, each): plane(visit().plus((name, each))).verdict for name in ways for each in ways[name]}

    assert set(answers.values()) == {(401, "credential-missing"), (401, "credential-invalid")}
    assert answers["Authorization", f"Bearer {token}"] == (401, "credential-missing")
