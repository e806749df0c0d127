"""The HTTP status and headers of a decision."""

from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest

from gatewall.engine.evaluate import CANNOT_DECIDE
from gatewall.engine.model import CredentialKind, Effect, Reason, Subject, SubjectKind
from gatewall.gate.responses import GuardPage, answer
from tests.support.cast import (
    ALICE_SUBJECT,
    BOB_SUBJECT,
    GIT_SUBJECT,
    LICENSE_SUBJECT,
    OFFICE,
    a_credential,
    a_decision,
    a_policy,
    a_request,
)

GUARD = GuardPage("/wall")
IDENTITY = ("Remote-User", "Remote-Email", "Remote-Groups", "X-Gatewall-Subject-Kind")
DENIED = a_decision(Reason.CLIENT_BLOCKED, effect=Effect.DENY)
CHALLENGED = a_decision(Reason.CREDENTIAL_MISSING, effect=Effect.CHALLENGE)
EACH_EFFECT = pytest.mark.parametrize("decision", [a_decision(), CHALLENGED, DENIED, CANNOT_DECIDE])


def headers_of(decision, request=None, policy=None, guard=GUARD):
    policy = policy or a_policy(domains={OFFICE: "authenticated"})
    given = answer(decision, request or a_request(), policy, guard, "the-id").headers
    assert len(dict(given)) == len(given), "a header was sent twice"
    return dict(given)


@pytest.mark.parametrize(
    ("decision", "status"), [(a_decision(), 200), (CHALLENGED, 401), (DENIED, 403), (CANNOT_DECIDE, 503)]
)
def test_effect_is_a_status(decision, status):
    assert answer(decision, a_request(), a_policy(), GUARD, "the-id").status == status


@EACH_EFFECT
def test_every_answer_names_its_id_and_reason(decision):
    headers = headers_of(decision)

    assert headers["X-Gatewall-Decision-Id"] == headers["X-Request-Id"] == "the-id"
    assert headers["X-Gatewall-Reason"] == decision.reason.value


@EACH_EFFECT
def test_every_answer_is_empty_and_not_stored(decision):
    headers = headers_of(decision)

    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_can_be_answered(reason):
    assert headers_of(a_decision(reason, effect=Effect.DENY))["X-Gatewall-Reason"] == reason.value


@pytest.mark.parametrize("decision", [CHALLENGED, DENIED, CANNOT_DECIDE])
def test_refusal_names_nobody(decision):
    headers = headers_of(replace(decision, subject=BOB_SUBJECT))

    assert not set(IDENTITY) & set(headers)


# Identity.


@pytest.mark.parametrize(
    ("subject", "values"),
    [
        (ALICE_SUBJECT, ("alice", "alice@office.example", "admins", "user")),
        (BOB_SUBJECT, ("Bob", "bob@office.example", "", "user")),
        (GIT_SUBJECT, ("Bob", "bob@office.example", "", "git-token")),
        (replace(GIT_SUBJECT, is_admin=True), ("Bob", "bob@office.example", "admins", "git-token")),
        (replace(BOB_SUBJECT, groups=("family", "zoo")), ("Bob", "bob@office.example", "family,zoo", "user")),
        (
            replace(ALICE_SUBJECT, groups=("a-team", "zoo")),
            ("alice", "alice@office.example", "a-team,admins,zoo", "user"),
        ),
        (LICENSE_SUBJECT, ("", "", "", "license")),
    ],
)
def test_admission_names_the_subject(subject, values):
    headers = headers_of(a_decision(subject=subject))

    assert tuple(headers[name] for name in IDENTITY) == values


def test_license_with_the_name_of_a_user_has_no_identity():
    subject = Subject(SubjectKind.LICENSE, 31, name="alice", email="alice@office.example", is_admin=True)

    headers = headers_of(a_decision(subject=subject))

    assert tuple(headers[name] for name in IDENTITY) == ("", "", "", "license")


@pytest.mark.parametrize(("reason", "kind"), [(Reason.HOST_PUBLIC, "public"), (Reason.CLIENT_ALLOWED, "client")])
def test_admission_without_a_subject_has_every_identity_header_empty(reason, kind):
    headers = headers_of(a_decision(reason))

    assert tuple(headers[name] for name in IDENTITY) == ("", "", "", kind)


def test_address_beyond_latin_1_can_be_sent():
    headers = headers_of(a_decision(subject=replace(BOB_SUBJECT, email="bob@例え.jp")))

    assert headers["Remote-Email"].encode("latin-1") == "bob@例え.jp".encode()


@pytest.mark.parametrize("bad", ["\n", "\r\nRemote-Groups: admins", "\0", "\x7f", "\x85", "\u2028", "\ud800"])
def test_name_or_address_that_is_not_printable_is_sent_empty(bad):
    subject = replace(BOB_SUBJECT, name=f"Bob{bad}", email=f"bob@office.example{bad}")

    headers = headers_of(a_decision(subject=subject))

    assert tuple(headers[name] for name in IDENTITY) == ("", "", "", "user")


# Refusals.


def test_client_over_its_rate_gets_retry_after():
    decision = a_decision(Reason.CLIENT_RATE_LIMITED, effect=Effect.DENY, retry_after_seconds=17)

    assert headers_of(decision)["Retry-After"] == "17"


def test_other_refusals_have_no_retry_after():
    assert "Retry-After" not in headers_of(DENIED)


def test_an_undecided_request_gets_503_with_retry_after():
    assert answer(CANNOT_DECIDE, None, None, GUARD, "the-id").status == 503
    assert dict(answer(CANNOT_DECIDE, None, None, GUARD, "the-id").headers)["Retry-After"] == "1"


@pytest.mark.parametrize("decision", [a_decision(), DENIED, CANNOT_DECIDE])
def test_only_a_challenge_has_the_location_of_the_guard_page(decision):
    assert not {"WWW-Authenticate", "Location"} & set(headers_of(decision))


# The challenge.


@pytest.mark.parametrize(
    "request_",
    [
        a_request(headers={"user-agent": "git/2.39.5"}),
        a_request(uri="/repo.git/info/refs?service=git-upload-pack"),
        a_request(uri="/repo.git/info/refs?service=git-receive-pack"),
        a_request(uri="/repo.git/git-upload-pack"),
        a_request(uri="/repo.git/git-receive-pack"),
        a_request(credentials=[a_credential("gwg_x", CredentialKind.GIT_BASIC, "bob")]),
    ],
)
def test_git_gets_a_basic_challenge(request_):
    assert headers_of(CHALLENGED, request_)["WWW-Authenticate"] == 'Basic realm="Gatewall"'


@pytest.mark.parametrize(
    "request_",
    [
        a_request(),
        a_request(headers={"user-agent": "Mozilla/5.0 git/2"}),
        a_request(uri="/info/refs"),
        a_request(uri="/info/refs?service=git-other"),
        a_request(uri="/search?q=/git-upload-pack"),
        a_request(credentials=[a_credential("x", CredentialKind.GIT_TOKEN, "bob")]),
    ],
)
def test_other_clients_get_no_basic_challenge(request_):
    assert headers_of(CHALLENGED, request_)["WWW-Authenticate"] == 'Gatewall realm="Gatewall"'


# The guard page.


def location(request, policy=None, public_url=None, root_path="/wall"):
    return headers_of(CHALLENGED, request, policy, GuardPage(root_path, public_url))["Location"]


def way_back(url):
    return parse_qs(urlsplit(url).query, strict_parsing=True)["rd"][0]


def test_guard_page_is_on_the_requested_site():
    url = location(a_request(host="Office.Example:8443", scheme="https", uri="/a?b=1&c=2"))

    assert url.startswith("https://office.example:8443/wall/?rd=")
    assert way_back(url) == "https://office.example:8443/a?b=1&c=2"


def test_guard_page_is_at_the_public_url_where_there_is_one():
    url = location(a_request(), public_url="https://gate.example")

    assert url.startswith("https://gate.example/wall/?rd=")
    assert way_back(url) == "http://office.example/"


def test_guard_page_is_under_the_root_path():
    assert location(a_request(), root_path="").startswith("http://office.example/?rd=")


def test_return_url_is_percent_encoded_as_bytes():
    url = location(a_request(uri="/\xff?a=b c&d=#'\"<>%0d%0a"))

    assert url.isascii()
    assert not set(" &'\"<>#") & set(url.partition("rd=")[2])
    assert "%FF" in url
    assert "%250d%250a" in url


HOSTILE = [
    a_request(host="evil.test", scheme="https"),
    a_request(host="office.example.evil.test"),
    a_request(host="eviloffice.example"),
    a_request(host="sub.office.example"),
    a_request(host="evil.test:443"),
    a_request(host="[2001:db8::666]"),
    a_request(host="192.0.2.66"),
    a_request(host=None),
    a_request(host="evil.test", uri="//office.example/"),
]


@pytest.mark.parametrize("request_", HOSTILE)
@pytest.mark.parametrize("public_url", [None, "https://gate.example"])
def test_host_that_nobody_registered_is_never_named(request_, public_url):
    assert location(request_, public_url=public_url) == f"{public_url or ''}/wall/"


@pytest.mark.parametrize(
    "uri",
    [
        "//evil.test/",
        "/\\evil.test",
        "/@evil.test",
        "*",
        "http://evil.test/",
        "/%0d%0aSet-Cookie:x",
        "/?rd=//evil.test",
    ],
)
def test_uri_never_moves_the_return_url_to_another_host(uri):
    url = location(a_request(uri=uri, scheme="https"))

    assert urlsplit(url)[:3] == ("https", OFFICE, "/wall/")
    assert way_back(url).startswith("https://office.example/")
    assert urlsplit(way_back(url)).hostname == OFFICE


def test_host_below_a_registered_wildcard_is_named():
    url = location(a_request(host="wiki.office.example"), a_policy(domains={"*.office.example": "authenticated"}))

    assert url.startswith("http://wiki.office.example/wall/?rd=")


SITE = "http://office.example"


@pytest.mark.parametrize(
    ("uri", "back"),
    [
        ("/wiki?q=" + "a" * 1_900, "/wiki?q=" + "a" * 1_900),
        ("/wiki?q=" + "a" * 8_000, "/wiki"),
        ("/wiki?q=" + "[" * 700, "/wiki"),
        ("/" + "a" * 8_000, "/"),
        ("/" + "\xff" * 1_000 + "?q=1", "/"),
    ],
    ids=["short enough", "query", "query that grows when encoded", "path", "path and query"],
)
@pytest.mark.parametrize("public_url", [None, "https://gate.example"])
def test_a_return_url_too_long_for_a_header_loses_its_query_then_its_path(uri, back, public_url):
    url = location(a_request(uri=uri), public_url=public_url)

    assert way_back(url) == SITE + back
    assert len(url) <= 2_100


def test_200_is_the_only_2xx_and_allows():
    # Some proxies let in on every 2xx (docs/adr/0037-two-hundred-alone.md).
    assert [effect for effect in Effect if effect.status < 300] == [Effect.ALLOW]
    assert Effect.ALLOW.status == 200
