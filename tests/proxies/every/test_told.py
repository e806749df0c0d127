"""The gate judges the request that the site gets: method, host, port and URI, whatever their spelling."""

from urllib.parse import unquote_to_bytes

import pytest

from tests.proxies.every.asking import http2, lines_of, raw
from tests.proxies.every.kinds import ENVOYS
from tests.support.processes import request

URIS = {
    "plain": "/a/b?c=d&e",
    "empty query": "/a?",
    "percent-encoded": "/caf%C3%A9/%41?q=%20%2B+",
    "encoded slash": "/a%2fb%2Fc",
    "encoded backslash": "/a%5cb",
    "encoded NUL": "/a%00b",
    "encoded percent": "/a%2525",
    "encoded question mark": "/a%3fb?c",
    "encoded hash": "/a%23b",
    "bad percent": "/a%zz%",
    "two slashes": "/a//b",
    "two slashes first": "//a/b",
    "dot": "/a/./b",
    "dots": "/a/../b",
    "encoded dots": "/a/%2e%2e/b",
    "dots behind an encoded slash": "/a/..%2fb",
    "semicolon": "/a;x=1/b;y",
    "dots behind a semicolon": "/a/..;/b",
    "backslash": "/a\\..\\b",
    "quotes and brackets": '/a"<>[]{}|^`',
    "UTF-8": "/caf\u00c3\u00a9?q=\u00c3\u00a4",
    "not UTF-8": "/caf\u00e9?q=\u00e4",
    "a tilde and stars": "/~a/*'()!$&,=:@",
    "question marks": "/a?b?c=/d/../e",
    "long": "/" + "a" * 4_000 + "?b=" + "c" * 2_000,
}
RAW, SPELLED, RESOLVED, REFUSED = "raw", "spelled", "resolved", "refused"
"""Raw; the same with other bytes percent-encoded; `//` and dot segments resolved for gate and site; 400."""
OUTCOMES = (
    dict.fromkeys([("nginx", name) for name in ("encoded NUL", "bad percent")], REFUSED)
    | dict.fromkeys([(kind, "bad percent") for kind in ("Caddy", "Traefik")], REFUSED)
    | dict.fromkeys([(kind, name) for kind in ("HAProxy", *ENVOYS) for name in ("UTF-8", "not UTF-8")], REFUSED)
    | {("Caddy", name): SPELLED for name in ("backslash", "quotes and brackets", "UTF-8", "not UTF-8")}
    | {("Traefik", name): SPELLED for name in ("backslash", "quotes and brackets", "UTF-8", "not UTF-8")}
    | {("Traefik", name): SPELLED for name in ("percent-encoded", "encoded slash", "encoded backslash")}
    | {("Traefik", name): SPELLED for name in ("encoded question mark", "dots behind an encoded slash")}
    | {("Traefik", name): RESOLVED for name in ("two slashes", "two slashes first", "dot", "dots", "encoded dots")}
    | {("Envoy Gateway", name): SPELLED for name in ("percent-encoded", "quotes and brackets")}
    | {("Envoy Gateway", name): RESOLVED for name in ("dot", "dots", "encoded dots", "backslash")}
    | {("Envoy Gateway", "dots behind a semicolon"): RESOLVED, ("Envoy Gateway", "encoded NUL"): REFUSED}
)
"""The treatment of URIs by proxies that do not pass them on raw."""
HOSTS = ["127.0.0.1", "127.0.0.1:8443", "office.example", "office.example:81", "OFFICE.example", "[::1]:80"]


def visit(front, target, method="GET", **headers):
    """Send a raw request line; return the requests that gate and site got, each None if none arrived."""
    asked, served = len(front.gate.requests), len(front.site.requests)
    answer = raw(front.port, f"{method} {target} HTTP/1.1".encode("latin-1"), lines_of(front.port, headers))
    told = front.told() if len(front.gate.requests) > asked else None
    return answer, told, front.served() if len(front.site.requests) > served else None


def decoded(uri):
    """Return the decoded bytes of a URI; an empty query counts as no query."""
    return unquote_to_bytes(uri.removesuffix("?").encode("latin-1"))


def outcome(uri, answer, told, served):
    if served is None:
        assert (answer.status, told) == (400, None)
        return REFUSED
    assert decoded(told.uri) == decoded(served.uri), "the gate judged another request than the site got"
    if uri == told.uri == served.uri:
        return RAW
    return SPELLED if decoded(uri) == decoded(served.uri) else RESOLVED


@pytest.mark.parametrize("name", URIS)
def test_uri_arrives_raw_at_gate_and_site(stub, name):
    found = outcome(URIS[name], *visit(stub, URIS[name]))

    assert found == OUTCOMES.get((stub.kind, name), RAW)


def test_target_with_a_host_reaches_the_gate_as_host_and_path(stub):
    answer, told, served = visit(stub, "http://office.example/a?b", Host="office.example")

    assert (answer.status, *told) == (200, "GET", "office.example", "/a?b")
    assert served.uri.removeprefix("http://office.example") == "/a?b"


def test_http_2_request_reaches_gate_and_site_as_any_other(stub):
    before = len(stub.gate.requests)

    spoken = http2(stub.port, "office.example", "/a?b", ("cookie", "a=1"), ("cookie", "b=2"))

    if spoken:
        assert stub.told() == stub.served() == ("GET", "office.example", "/a?b")
        assert stub.gate.last.get_all("Cookie") == ["a=1; b=2"]
    else:  # nginx, without HTTP/2 enabled
        assert (stub.kind, len(stub.gate.requests)) == ("nginx", before)


@pytest.mark.parametrize("host", HOSTS)
def test_host_and_port_arrive_raw_at_gate_and_site(stub, host):
    answer, told, served = visit(stub, "/", Host=host)

    assert answer.status == 200
    assert told.host == served.host
    assert told.host in ({host, host.lower()} if stub.kind == "nginx" else {host})


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_method_reaches_gate_and_site(stub, method):
    _, told, served = visit(stub, "/", method)

    assert told.method == served.method == method


@pytest.mark.parametrize("method", ["COPY", "MOVE"])
def test_destination_of_a_copy_reaches_gate_and_site_unchanged(stub, method):
    sent = "http://office.example/a/..%2fb"

    _, told, served = visit(stub, "/a", method, Host="office.example", Destination=sent)

    assert told.method == served.method == method
    assert stub.site.last.get_all("Destination") == [sent]
    assert stub.gate.last.get_all("Destination") == (None if stub.kind == "Envoy Gateway" else [sent])


@pytest.mark.parametrize("value", ["caf\u00c3\u00a9", "caf\u00e9", "\u00ff\u00fe", '"quoted", and; more'])
def test_header_value_that_is_not_ascii_arrives_as_its_bytes(stub, value):
    answer, _, served = visit(stub, "/", **{"X-Api-Key": value})

    assert (answer.status, served is not None) == (200, True)
    assert stub.site.last["X-Api-Key"] == value
    assert stub.gate.last["X-Api-Key"] == (as_envoy_tells(value) if stub.kind in ENVOYS else value)


def as_envoy_tells(value):
    """Return a text with invalid UTF-8 replaced by `!`, as in subrequests of Envoy."""
    try:
        value.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return "".join(letter if letter.isascii() else "!" for letter in value)
    return value


def test_header_of_seven_thousand_bytes_arrives(stub):
    value = "x" * 7_000

    request(stub.port, "/", {"X-Api-Key": value})

    assert stub.gate.last["X-Api-Key"] == stub.site.last["X-Api-Key"] == value


@pytest.mark.parametrize("size", [17_000, 70_000, 1_100_000])
def test_header_that_is_too_long_is_refused_or_judged(stub, size):
    answer, told, served = visit(stub, "/", **{"X-Long": "x" * size})

    assert served is None or told == served
    assert answer.status in {0, 200, 400, 413, 431, 494} or answer.status // 100 == 5


def test_site_gets_host_scheme_and_address_from_the_proxy_alone(stub):
    forged = dict.fromkeys(("X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"), "6.6.6.6")

    request(stub.port, "/", forged)

    for headers in (stub.gate.last, stub.site.last):
        (address,) = headers.get_all("X-Forwarded-For")
        assert stub.names_the_visitor(address)
        assert headers["X-Forwarded-Proto"] == "http"
    assert stub.site.last["X-Forwarded-Host"] == f"127.0.0.1:{stub.port}"


def test_hop_by_hop_headers_of_the_visitor_do_not_reach_the_gate(stub):
    request(stub.port, "/", {"Upgrade": "websocket", "Connection": "upgrade, x-mine", "X-Mine": "1", "TE": "trailers"})

    asked = stub.gate.last
    assert [name for name in ("Upgrade", "TE", "Transfer-Encoding") if asked[name]] == []
