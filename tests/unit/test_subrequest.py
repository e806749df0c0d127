"""Parsing of the subrequest of ``GET /auth`` (vectors HN-20 to HN-55)."""

import pytest

from gatewall.gate.subrequest import Subrequest
from gatewall.kernel.clientip import TrustedProxies
from tests.support.cast import NOW, PROXY, TRUSTED
from tests.unit.questions import FULL, ask, with_full

HIGH_TEXT = bytes(range(0x80, 0x100)).decode("latin-1")


def test_forwarding_headers_of_a_trusted_proxy_are_the_target():
    request = with_full()

    assert str(request.client) == "1.2.3.4"
    assert str(request.authority) == "office.example"
    assert (request.scheme, request.method, request.uri) == ("https", "POST", "/path?q=1")
    assert request.fault == ""
    assert request.at == NOW


@pytest.mark.parametrize(("peer", "trusted"), [("192.0.2.99", TRUSTED), (PROXY, TrustedProxies.parse([]))])
def test_forwarding_headers_of_anybody_else_do_not_exist(peer, trusted):
    request = ask(peer=peer, trusted=trusted, **FULL)

    assert str(request.client) == peer
    assert str(request.authority) == "gatewall.internal"
    assert (request.scheme, request.method, request.uri) == ("http", "GET", "/")
    assert request.visible == {"headers"}


def test_malformed_forwarding_headers_of_anybody_else_do_not_exist():
    request = ask(peer="192.0.2.99", host="a.example", x_forwarded_host="a, b", x_forwarded_for="junk")

    assert request.fault == ""


# Absent parts.


def test_plain_request_is_about_the_peer_and_its_host():
    request = ask(host="Office.Example:8443", scheme="https")

    assert str(request.client) == PROXY
    assert str(request.authority) == "office.example:8443"
    assert (request.scheme, request.method, request.uri) == ("https", "GET", "/")
    assert request.visible == {"headers"}


@pytest.mark.parametrize(
    ("header", "field", "value"),
    [
        ("x_forwarded_method", "method", "GET"),
        ("x_forwarded_uri", "uri", "/"),
        ("x_forwarded_proto", "scheme", "http"),
    ],
)
def test_absent_part_has_its_default_and_is_not_visible(header, field, value):
    request = with_full(**{header: None})

    assert getattr(request, field) == value
    assert request.visible == {"headers", "for", "host", "proto", "method", "uri"} - {
        header.removeprefix("x_forwarded_")
    }


def test_absent_forwarded_host_leaves_the_host_header():
    assert str(with_full(x_forwarded_host=None).authority) == "gatewall.internal"


def test_a_request_without_a_host_has_no_authority():
    request = ask()

    assert request.authority is None
    assert request.fault == ""


def test_proxy_that_forwards_no_host_at_all_is_malformed():
    assert with_full(x_forwarded_host=None, host=None).fault == "no host was sent"


def test_allowlist_applies_to_a_client_named_by_the_proxy():
    assert with_full().allowlist_applies


def test_allowlist_applies_to_the_peer_of_a_plain_request():
    assert ask(host="office.example").allowlist_applies


@pytest.mark.parametrize("chain", [None, "", " ", ",", " , ,", "\n"])
def test_allowlist_does_not_apply_when_other_headers_came_without_a_client(chain):
    request = with_full(x_forwarded_for=chain)

    assert request.fault == ""
    assert str(request.client) == PROXY
    assert not request.allowlist_applies


def test_unix_socket_peer_is_trusted():
    assert str(ask(peer="", **FULL).client) == "1.2.3.4"


# Malformed requests.


MALFORMED = [
    ("x_forwarded_for", "1.2.3.4, unknown"),
    ("x_forwarded_for", "fe80::1%eth0"),
    ("x_forwarded_for", "1.2.3.4\nunknown"),
    ("x_forwarded_for", f"1.2.3.4{HIGH_TEXT}"),
    ("x_forwarded_host", "a.example, b.example"),
    ("x_forwarded_host", "a.example,a.example"),
    ("x_forwarded_host", "a.example\nb.example"),
    ("x_forwarded_host", ""),
    ("x_forwarded_host", " "),
    ("x_forwarded_host", "a.example:0"),
    ("x_forwarded_host", "a.example:99999"),
    ("x_forwarded_host", "a.example:"),
    ("x_forwarded_host", "user@a.example"),
    ("x_forwarded_host", "a.example/path"),
    ("x_forwarded_host", "a.example..\t"),
    ("x_forwarded_host", "a\\b.example"),
    ("x_forwarded_host", "a.example\x00"),
    ("x_forwarded_host", "\xff.example"),
    ("x_forwarded_host", "2001:db8::1"),
    ("x_forwarded_host", "[fe80::1%25a]"),
    ("x_forwarded_proto", "ftp"),
    ("x_forwarded_proto", "https,http"),
    ("x_forwarded_proto", "https\nhttp"),
    ("x_forwarded_proto", "javascript"),
    ("x_forwarded_proto", ""),
    ("x_forwarded_proto", "https\xff"),
    ("x_forwarded_method", "get"),
    ("x_forwarded_method", "GET,POST"),
    ("x_forwarded_method", "GET\nPOST"),
    ("x_forwarded_method", "GET /"),
    ("x_forwarded_method", "G\xc9T"),
    ("x_forwarded_method", ""),
    ("x_forwarded_method", "-"),
    ("x_forwarded_method", "A" * 33),
    ("x_forwarded_uri", "path"),
    ("x_forwarded_uri", ""),
    ("x_forwarded_uri", "http://a.example/"),
    ("x_forwarded_uri", "/a\n/b"),
    ("x_forwarded_uri", "/a\r"),
    ("x_forwarded_uri", "/a\x7f"),
    ("x_forwarded_uri", "/a\tb"),
    ("x_forwarded_uri", "/" + "a" * 16_384),
]


def test_header_with_two_readings_is_malformed():
    believed = [(header, value) for header, value in MALFORMED if not with_full(**{header: value}).fault]

    assert believed == []


@pytest.mark.parametrize("part", ["host", "proto", "method"])
def test_comma_is_refused_as_such(part):
    header = f"x_forwarded_{part}"

    assert with_full(**{header: f"{FULL[header]},"}).fault == f"x-forwarded-{part} has a comma"


@pytest.mark.parametrize("host", ["a.example\nb.example", "a/b", "a.example:0", "\xff", ""])
def test_bad_host_header_is_malformed_where_it_is_read(host):
    assert with_full(x_forwarded_host=None, host=host).fault


def test_host_header_is_not_read_beside_a_forwarded_host():
    assert with_full(host="a/b").fault == ""


@pytest.mark.parametrize(
    "value",
    [
        {"x_forwarded_host": "a, b"},
        {"x_forwarded_proto": "ftp"},
        {"x_forwarded_method": "get"},
        {"x_forwarded_uri": "x"},
    ],
)
def test_malformed_request_still_names_its_client(value):
    assert str(with_full(**value).client) == "1.2.3.4"


def test_peer_that_is_no_address_is_malformed():
    request = ask(peer="nonsense", host="a.example")

    assert request.fault
    assert str(request.client) == "0.0.0.0"


def test_equal_lines_count_as_one():
    request = with_full(**{name: f"{value}\n{value}" for name, value in FULL.items() if name != "x_forwarded_for"})

    assert request.fault == ""
    assert str(request.authority) == "office.example"
    assert request.uri == "/path?q=1"


def test_lines_of_forwarded_for_are_one_chain():
    assert str(with_full(x_forwarded_for="6.6.6.6, 1.2.3.4\n10.0.0.9").client) == "1.2.3.4"


@pytest.mark.parametrize("uri", ["/a,b", "/a?x=1,2", "/,", "*", "//a", "/./a/../b", "/%2e%252e;x", "/a\\b", "/a b"])
def test_uri_is_kept_as_it_was_sent(uri):
    assert with_full(x_forwarded_uri=uri).uri == uri


@pytest.mark.parametrize(("sent", "scheme"), [("HTTPS", "https"), ("http", "http"), ("ws", "http"), ("wss", "https")])
def test_scheme_is_http_or_https(sent, scheme):
    assert with_full(x_forwarded_proto=sent).scheme == scheme


@pytest.mark.parametrize("method", ["GET", "PROPFIND", "M-SEARCH", "VERSION-CONTROL"])
def test_method_is_in_capital_letters(method):
    assert with_full(x_forwarded_method=method).method == method


@pytest.mark.parametrize(
    ("sent", "host"),
    [
        ("OFFICE.example", "office.example"),
        ("office.example.", "office.example"),
        ("office.example:443", "office.example:443"),
        ("b\xc3\xbccher.de", "xn--bcher-kva.de"),
        ("[2001:DB8::1]:8443", "[2001:db8::1]:8443"),
    ],
)
def test_host_has_one_spelling(sent, host):
    assert str(with_full(x_forwarded_host=sent).authority) == host


def test_printed_subrequest_shows_no_header_and_no_target():
    printed = repr(Subrequest(PROXY, "http", {"service-authorization": "secret"}, "GET", "/a?token=secret"))

    assert PROXY in printed
    assert "secret" not in printed
