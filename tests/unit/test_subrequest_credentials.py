"""Credentials in the visitor's headers, and the headers that the WAF inspects."""

from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewall.credentials.machine import APP_TOKEN_PREFIX
from gatewall.engine.model import Credential, CredentialKind
from gatewall.gate import subrequest
from gatewall.gate.subrequest import auth
from tests.support.cast import BOBS_GIT_TOKEN, NOW, TRUSTED, a_subrequest

HEADER, COOKIE = CredentialKind.SESSION_HEADER, CredentialKind.SESSION_COOKIE
GIT, BASIC, LICENSE = CredentialKind.GIT_TOKEN, CredentialKind.GIT_BASIC, CredentialKind.LICENSE


def ask(**headers):
    return auth(a_subrequest(**headers), TRUSTED, NOW)


def credentials(**headers):
    return ask(**headers).credentials


def basic(text):
    return "Basic " + b64encode(text.encode()).decode()


def test_other_headers_are_no_credentials():
    assert credentials(host="office.example", cookie="a=1", authorization="Bearer x") == ()


def test_credentials_come_in_the_order_of_the_contract():
    found = credentials(
        service_license="l",
        authorization=basic(f"bob:{BOBS_GIT_TOKEN}"),
        service_git_token="bob:g",
        cookie="service.token=c",
        service_authorization="h",
    )

    assert found == (
        Credential(HEADER, "h"),
        Credential(COOKIE, "c"),
        Credential(GIT, "g", "bob"),
        Credential(BASIC, BOBS_GIT_TOKEN, "bob"),
        Credential(LICENSE, "l"),
    )


@pytest.mark.parametrize("value", ["token", " token\t", "Bearer token", "bearer token", "BEARER   token"])
def test_session_header_may_start_with_bearer(value):
    assert credentials(service_authorization=value) == (Credential(HEADER, "token"),)


@pytest.mark.parametrize("value", ["", " ", "\t"])
def test_empty_credential_header_is_no_credential(value):
    assert credentials(service_authorization=value, service_git_token=value, service_license=value) == ()


def test_cookie_is_a_session():
    assert credentials(cookie='a=1; service.token=token; b="2"') == (Credential(COOKIE, "token"),)


def test_cookie_may_stand_in_quotes():
    assert credentials(cookie='service.token="token"') == (Credential(COOKIE, "token"),)


@pytest.mark.parametrize("cookie", ["service.token=", "Service.Token=x", "service_token=x", "xservice.token=x", "x"])
def test_other_cookie_is_no_session(cookie):
    assert credentials(cookie=cookie) == ()


def test_four_session_cookies_are_tried_and_no_more():
    found = credentials(cookie="; ".join(f"service.token=t{number}" for number in range(9)))

    assert [credential.secret for credential in found] == ["t0", "t1", "t2", "t3"]


def test_empty_session_cookie_takes_no_place():
    found = credentials(cookie="service.token=; " * 4 + "service.token=t")

    assert [credential.secret for credential in found] == ["t"]


@pytest.mark.parametrize(
    ("value", "username", "secret"),
    [
        ("bob:token", "bob", "token"),
        ("a:b:c", "a", "b:c"),
        (":token", "", "token"),
        ("bob:", "bob", ""),
        ("bob", "bob", ""),
    ],
)
def test_git_token_is_split_at_the_first_colon(value, username, secret):
    assert credentials(service_git_token=value) == (Credential(GIT, secret, username),)


@pytest.mark.parametrize("scheme", ["Basic", "basic", "BASIC"])
def test_basic_with_a_git_token_is_ours(scheme):
    value = basic(f"bob:{BOBS_GIT_TOKEN}").replace("Basic", scheme)

    assert credentials(authorization=value) == (Credential(BASIC, BOBS_GIT_TOKEN, "bob"),)


@pytest.mark.parametrize(
    "value",
    [
        basic("bob:password"),
        basic("bob:gwl_token"),
        basic("gwg_token"),
        "Basic !!!",
        "Basic",
        "Basic YQ",
        f"Bearer {BOBS_GIT_TOKEN}",
        f"Basic bob:{BOBS_GIT_TOKEN}",
        "Digest x",
        "\xff",
    ],
)
def test_other_authorization_is_not_ours(value):
    assert credentials(authorization=value) == ()


def test_equal_lines_of_basic_count_as_one():
    value = basic(f"bob:{BOBS_GIT_TOKEN}")

    assert credentials(authorization=f"{value}\n{value}") == (Credential(BASIC, BOBS_GIT_TOKEN, "bob"),)


def test_different_lines_of_basic_are_malformed():
    request = ask(authorization=f"{basic(f'bob:{BOBS_GIT_TOKEN}')}\n{basic('bob:other')}")

    assert request.fault == "authorization has two values"


@pytest.mark.parametrize("header", ["service_authorization", "service_git_token", "service_license"])
def test_equal_lines_of_a_credential_count_as_one(header):
    assert len(credentials(**{header: "a:b\na:b"})) == 1


@pytest.mark.parametrize("header", ["service_authorization", "service_git_token", "service_license"])
def test_different_lines_of_a_credential_are_all_tried(header):
    assert len(credentials(**{header: "a:b\na:c"})) == 2


@pytest.mark.parametrize("header", ["service_authorization", "service_git_token", "service_license"])
def test_lines_of_a_credential_are_bounded(header):
    assert len(credentials(**{header: "\n".join(f"a:{number}" for number in range(99))})) == 4


def test_credential_shows_no_secret():
    assert "token" not in repr(Credential(HEADER, "token", "bob"))


# Headers for the WAF.

CANARY = "canary-secret"


def test_our_own_credentials_are_not_shown():
    request = ask(
        service_authorization=CANARY,
        service_git_token=CANARY,
        service_license=CANARY,
        authorization=CANARY,
        proxy_authorization=CANARY,
        cookie=f"a=1; service.token={CANARY}; b=2",
    )

    assert request.headers == (("cookie", "a=1; b=2"),)
    assert request.cookies == (("a", "1"), ("b", "2"))


def test_forwarding_headers_are_not_shown_as_the_visitors():
    assert ask(x_forwarded_for="1.2.3.4", x_forwarded_uri="/", host="a").headers == (("host", "a"),)


def test_other_headers_are_shown():
    request = ask(user_agent="curl", x_api_version="1", cookie="a=1")

    assert (request.header("user-agent"), request.header("x-api-version"), request.header("cookie")) == (
        "curl",
        "1",
        "a=1",
    )


def test_lines_of_a_shown_header_are_joined():
    assert ask(accept="a\nb").header("accept") == "a, b"


@pytest.mark.parametrize("cookie", ["${jndi:x}", 'a=" or 1=1'])
def test_cookies_are_shown_as_they_were_sent(cookie):
    assert cookie in ask(cookie=cookie).header("cookie")


NAMES = [
    "accept",
    "cookie",
    "authorization",
    "x-forwarded-for",
    "x-forwarded-port",
    "service-license",
    "x-note",
    "host",
]
VALUES = ["", "text", "one\ntwo", APP_TOKEN_PREFIX + "a" * 40]


@given(st.dictionaries(st.sampled_from(NAMES), st.sampled_from(VALUES)))
def test_usual_headers_are_shown_as_others_are(headers):
    assert subrequest._shown(headers, ()) == tuple(subrequest._unusually_shown(headers))
