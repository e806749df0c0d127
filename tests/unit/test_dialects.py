"""Four dialects, one subrequest: required headers, headers of other dialects, and malformed requests."""

from dataclasses import replace

import pytest

from gatewall.kernel.clientip import TrustedProxies
from tests.support.cast import PROXY, TRUSTED
from tests.unit.dialects import TONGUES, VISIT

EACH = pytest.mark.parametrize("tongue", TONGUES.values(), ids=TONGUES)
REQUIRED = [(tongue, header) for tongue in TONGUES for header in TONGUES[tongue].required]
READ = {
    "auth": {"x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-forwarded-method", "x-forwarded-uri"},
    "forward": {"x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-forwarded-method", "x-forwarded-uri"},
    "original-url": {"x-forwarded-for", "x-original-url", "x-original-method"},
    "envoy": {"x-forwarded-for", "x-forwarded-proto", "host"},
}
EVERY_HEADER = set.union(*READ.values()) | {
    "x-real-ip", "forwarded", "x-forwarded-prefix", "x-rewrite-url", "true-client-ip", "x-original-uri",
    "x-original-host", "x-forwarded-port", "x-forwarded-ssl", "x-forwarded-scheme", "x-forwarded-server",
    "x-envoy-original-path", "x-envoy-external-address", "x-http-method-override", "cf-connecting-ip", "x-client-ip",
    "x-auth-request-redirect", "x-envoy-internal", "via", "connection", "remote-user",
}  # fmt: skip
FOREIGN = [(name, header) for name in TONGUES for header in sorted(EVERY_HEADER - READ[name])]


def question(request):
    """Return the parsed subrequest, without the visitor's own headers."""
    return replace(request, headers=())


@EACH
def test_the_visit_is_parsed(tongue):
    request = tongue.ask()

    assert (str(request.client), str(request.authority)) == ("1.2.3.4", "office.example")
    assert (request.scheme, request.method, request.uri) == ("https", "POST", "/path?q=1")
    assert request.visible == {"for", "host", "proto", "method", "uri", "headers"}
    assert (request.fault, request.allowlist_applies) == ("", True)


def test_every_dialect_gives_the_same_subrequest():
    assert len({question(tongue.ask()) for tongue in TONGUES.values()}) == 1


# Headers.


@pytest.mark.parametrize(("name", "header"), REQUIRED)
@pytest.mark.parametrize("value", [None, "", " ", "\n", ",", " , ,"])
def test_an_empty_required_header_is_malformed(name, header, value):
    request = TONGUES[name].ask(extra={header: value})

    assert request.fault == f"{header} is missing"


@pytest.mark.parametrize(("name", "header"), FOREIGN)
@pytest.mark.parametrize(
    "value", ["127.0.0.1", "/public", "https://evil.test/public", "DELETE", "a, b", "\xff\n\xfe", ""]
)
def test_a_header_of_another_dialect_is_never_read(name, header, value):
    tongue = TONGUES[name]

    assert question(tongue.ask(extra={header: value})) == question(tongue.ask())


@pytest.mark.parametrize("peer", ["192.0.2.99", "127.0.0.1"])
@EACH
def test_headers_of_an_untrusted_peer_are_not_read(tongue, peer):
    request = tongue.ask(peer=peer, trusted=TrustedProxies.parse(["10.0.0.0/24"]))

    assert str(request.client) == peer
    assert (request.method, request.uri, request.visible) == ("GET", "/", {"headers"})
    assert request.fault == ""


@pytest.mark.parametrize("name", ["auth", "forward", "envoy"])
def test_proto_may_be_missing(name):
    request = TONGUES[name].ask(proto=None)

    assert (request.fault, request.scheme) == ("", "http")
    assert "proto" not in request.visible


@EACH
def test_without_a_fault_there_is_always_a_host(tongue):
    request = tongue.ask(host="", extra={"host": None})

    assert request.fault or tongue is TONGUES["auth"]


# Refused by all dialects.


FAULTS = [
    ("client", "unknown"),
    ("client", "1.2.3.4, unknown"),
    ("client", "fe80::1%eth0"),
    ("client", "010.0.0.1"),
    ("client", "1.2.3.4\nx"),
    ("client", "\xff"),
    ("client", ", ".join(["10.0.0.2"] * 33)),
    ("host", "a.example, b.example"),
    ("host", "a.example\nb.example"),
    ("host", "user@a.example"),
    ("host", "a.example:0"),
    ("host", "a.example:99999"),
    ("host", "a.example\0"),
    ("host", "a b.example"),
    ("host", "a\\b.example"),
    ("host", "a#b.example"),
    ("host", "\xff.example"),
    ("host", "[fe80::1%25a]"),
    ("host", "0x7f.1"),
    ("proto", "ftp"),
    ("proto", "javascript"),
    ("proto", "https,http"),
    ("proto", "https\xff"),
    ("method", "get"),
    ("method", "GET,POST"),
    ("method", "GET\nPOST"),
    ("method", "GET /"),
    ("method", "G\xc9T"),
    ("method", "-"),
    ("method", "A" * 33),
    ("uri", "/a#b"),
    ("uri", "/#"),
    ("uri", "/public?q=#/private"),
    ("uri", "/a\rb"),
    ("uri", "/a\tb"),
    ("uri", "/a\0"),
    ("uri", "/a\x7f"),
    ("uri", "/a\n/b"),
    ("uri", "/" + "a" * 16_384),
]


@pytest.mark.parametrize(("part", "value"), FAULTS, ids=[f"{part}={value[:24]!r}" for part, value in FAULTS])
@EACH
def test_a_part_with_two_readings_is_malformed(tongue, part, value):
    assert tongue.ask(**{part: value}).fault


@EACH
def test_a_malformed_visit_still_names_its_client(tongue):
    assert str(tongue.ask(uri="/a#b").client) == "1.2.3.4"


@EACH
def test_a_malformed_visit_keeps_ordinary_headers_but_no_credential(tongue):
    request = tongue.ask(uri="/a#b", extra={"accept": "text/html", "cookie": "service.token=x", "service-license": "y"})

    assert request.fault
    assert request.header("accept") == "text/html"
    assert (request.header("cookie"), request.header("service-license")) == ("", "")
    assert (request.cookies, request.credentials) == ((), ())


@pytest.mark.parametrize("name", ["auth", "forward"])
@pytest.mark.parametrize("uri", ["path", "", "http://a.example/", "?a", "\\a"])
def test_a_uri_that_is_no_path_is_malformed(name, uri):
    assert TONGUES[name].ask(uri=uri).fault


@pytest.mark.parametrize(
    "url",
    [
        "office.example/path", "/path", "https://office.example", "https:///path", "https:/office.example/path",
        "https://office.example?q=/", "https://office.example#/path", "https://office.example\\/path",
        "https://user@office.example/", "https://office.example/a\nhttps://evil.test/", "://office.example/", "https://",
        "ftp://office.example/", "https://office.example, https://evil.test/",
    ],
)  # fmt: skip
def test_an_original_url_that_is_not_one_absolute_url_is_malformed(url):
    assert TONGUES["original-url"].ask(extra={"x-original-url": url}).fault


# Parsed alike by all dialects (vectors HN-20 to HN-55).


HOSTS = [
    ("OFFICE.example", "office.example"),
    ("office.example.", "office.example"),
    ("office.example:443", "office.example:443"),
    ("OFFICE.EXAMPLE.:8443", "office.example:8443"),
    ("b\xc3\xbccher.de", "xn--bcher-kva.de"),
    ("xn--bcher-kva.de", "xn--bcher-kva.de"),
    ("under_score.example", "under_score.example"),
    ("[2001:DB8::1]:8443", "[2001:db8::1]:8443"),
    ("[2001:0db8:0::1]", "[2001:db8::1]"),
    ("192.0.2.1", "192.0.2.1"),
]


@pytest.mark.parametrize(("sent", "host"), HOSTS)
@EACH
def test_a_host_has_one_spelling(tongue, sent, host):
    request = tongue.ask(host=sent)

    assert (request.fault, str(request.authority)) == ("", host)


@pytest.mark.parametrize(
    ("chain", "client"),
    [
        ("1.2.3.4", "1.2.3.4"),
        ("6.6.6.6, 1.2.3.4", "1.2.3.4"),
        ("garbage, 1.2.3.4", "1.2.3.4"),
        ("1.2.3.4, 10.0.0.9", "1.2.3.4"),
        ("6.6.6.6, 1.2.3.4\n10.0.0.9", "1.2.3.4"),
        ("10.0.0.8, 10.0.0.9", "10.0.0.8"),
        ("1.2.3.4:5678", "1.2.3.4"),
        ("[2001:db8::1]:443", "2001:db8::1"),
        ("::ffff:1.2.3.4", "1.2.3.4"),
    ],
)
@EACH
def test_the_client_is_the_rightmost_untrusted_hop(tongue, chain, client):
    request = tongue.ask(client=chain)

    assert (request.fault, str(request.client)) == ("", client)


@pytest.mark.parametrize(("sent", "scheme"), [("HTTPS", "https"), ("http", "http"), ("ws", "http"), ("wss", "https")])
@EACH
def test_a_scheme_is_http_or_https(tongue, sent, scheme):
    assert tongue.ask(proto=sent).scheme == scheme


@pytest.mark.parametrize("method", ["GET", "PROPFIND", "M-SEARCH", "VERSION-CONTROL"])
@EACH
def test_a_method_is_in_capital_letters(tongue, method):
    assert (tongue.ask(method=method).method, tongue.ask(method=method).fault) == (method, "")


RAW = [
    "/", "//a", "/a//b", "/./a/../b", "/..%2fadmin", "/%2e%2e/a", "/a%2fb", "/a%2Fb", "/a%5cb", "/a%23b", "/a%00",
    "/a;v=1/b;w", "/..;/admin", "/a?b?c", "/a?x=1,2", "/a,b", "/%zz", "/a\\b", "/a b", "/\xff?\x80", "/a?q=%23",
    "/@evil.test/", "/a:b", "/?x=https://evil.test/",
]  # fmt: skip


@pytest.mark.parametrize("uri", RAW)
@EACH
def test_a_uri_is_kept_as_it_was_sent(tongue, uri):
    request = tongue.ask(uri=uri)

    assert (request.fault, request.uri) == ("", uri)


@EACH
def test_equal_lines_count_as_one(tongue):
    lines = {name: f"{value}\n{value}" for name, value in tongue.write(**VISIT)["headers"].items() if value}

    assert question(tongue.ask(extra=lines)) == question(tongue.ask())


@pytest.mark.parametrize("header", sorted(set.union(*READ.values()) - {"x-forwarded-for"}))
@EACH
def test_different_lines_of_a_header_that_is_read_are_malformed(tongue, header):
    name = next(name for name, each in TONGUES.items() if each is tongue)
    first = tongue.write(**VISIT)["headers"].get(header)

    request = tongue.ask(extra={header: f"{first}\nother"})

    assert bool(request.fault) is (header in READ[name])


@EACH
def test_a_unix_socket_is_trusted(tongue):
    assert question(tongue.ask(peer="")) == question(tongue.ask(peer=PROXY, trusted=TRUSTED))
