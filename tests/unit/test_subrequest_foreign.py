"""High bytes are kept in subrequests; header aliases and headers of other dialects have no effect."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewall.gate.headers import from_lines
from gatewall.gate.subrequest import Subrequest, auth
from tests.support.cast import NOW, PROXY, TRUSTED
from tests.unit.questions import FULL, ask, with_full

HIGH = [chr(code) for code in range(0x80, 0x100)]


def test_high_bytes_reach_the_request_unchanged():
    value = "".join(HIGH)

    request = with_full(x_forwarded_uri=f"/{value}?{value}", cookie=f"a={value}", user_agent=value, x_other=value)

    assert request.fault == ""
    assert request.uri == f"/{value}?{value}"
    assert request.cookies == (("a", value),)
    assert request.header("user-agent") == request.header("x-other") == value


@pytest.mark.parametrize("header", ["x_forwarded_for", "x_forwarded_host", "x_forwarded_proto", "x_forwarded_method"])
def test_high_byte_is_refused_where_it_has_no_meaning(header):
    unnoticed = [byte for byte in HIGH if not with_full(**{header: FULL[header] + byte}).fault]

    assert unnoticed == []


@pytest.mark.parametrize(
    "alias", ["X_Forwarded_{}", "X.Forwarded.{}", "X-Forwarded_{}", "XForwarded{}", "X-Forwarded{}"]
)
def test_alias_of_a_forwarding_header_has_no_effect(alias):
    lines = [
        (alias.format(part).encode(), value)
        for part, value in [
            ("For", b"6.6.6.6"),
            ("Host", b"evil.test"),
            ("Uri", b"/evil"),
            ("Method", b"bad"),
            ("Proto", b"bad"),
        ]
    ]

    request = auth(Subrequest(PROXY, "http", from_lines([(b"Host", b"office.example"), *lines])), TRUSTED, NOW)

    assert (str(request.client), str(request.authority), request.uri) == (PROXY, "office.example", "/")
    assert request.fault == ""


@pytest.mark.parametrize("alias", ["service_authorization", "service.authorization", "serviceauthorization"])
def test_alias_of_a_credential_header_has_no_effect(alias):
    request = auth(Subrequest(PROXY, "http", {alias: "token"}), TRUSTED, NOW)

    assert request.credentials == ()


FOREIGN = [
        "X-Original-URL", "X-Original-Method", "X-Original-Host", "X-Rewrite-URL", "X-Real-IP", "Forwarded",
        "X-Forwarded-Prefix", "X-Forwarded-Path", "X-Forwarded-Port", "X-Forwarded-Server", "X-Forwarded-Scheme",
        "X-Forwarded-Ssl", "X-Forwarded", "X-Forwarded-By", "X-HTTP-Method-Override", "X-Host", "X-Client-IP",
        "True-Client-IP", "CF-Connecting-IP", "Client-IP", "X-Cluster-Client-IP", "Fastly-Client-IP", "Front-End-Https",
        "X-Envoy-External-Address", "X-Envoy-Original-Path", "X-ProxyUser-Ip", "X-Auth-Request-Redirect", "Via", "From",
        "Remote-User", "X-Remote-User", "X-Gatewall-Subject-Kind", "Connection",
    ]  # fmt: skip


def test_header_of_another_dialect_changes_no_part_of_the_question():
    plain = with_full()
    values = ("127.0.0.1", "for=127.0.0.1;host=evil.test;proto=http", "/evil", "DELETE")

    noticed = [
        name
        for name in FOREIGN
        for value in values
        if replace(with_full(**{name.lower(): value}), headers=plain.headers) != plain
    ]

    assert noticed == []


@given(
    st.dictionaries(st.sampled_from([*FULL, "cookie", "authorization", "service_git_token"]), st.binary(max_size=40))
)
def test_any_header_is_parsed_without_an_exception(headers):
    request = ask(**{name: value.decode("latin-1") for name, value in headers.items()})

    assert request.at == NOW
