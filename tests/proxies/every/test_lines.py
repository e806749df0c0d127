"""Known vulnerabilities of similar gateways in paths, hosts and request lines; named after the advisories."""

import re
import socket
from urllib.parse import urlencode

import pytest

from tests.proxies.every.asking import PUBLIC, SITE, lines_of, raw, reached
from tests.support.processes import BROWSER, PASSWORD, PATIENCE, request

SHUT = {0, 302, 303, 400, 401, 403, 404, 405, 414, 431, 501, 505}


MALFORMED = ["/%", "/%zz", "/%00", "/a b", "/a\x01b", "/\x7f", "/" + "a" * 65_536, "a", "", "http://", "//", "/%ff%fe"]


@pytest.mark.parametrize("target", MALFORMED, ids=range(len(MALFORMED)))
def test_cve_2021_32637_cve_2023_33189_unparsable_target(front, target):
    status, arrived = reached(front, target)

    assert (status in SHUT, arrived) == (True, False)


@pytest.mark.parametrize("target", ["/?x=/wall/", "/?host=public.example", "/#/wall/", "/%23/wall/", "/private?/wall/"])
def test_cve_2025_54576_ghsa_pxq7_cve_2021_32779_free_path_in_query_or_fragment(front, target):
    status, arrived = reached(front, target)

    assert (status in SHUT, arrived) == (True, False)


OUT_OF_OURS = ["/wall/../secret", "/wall/%2e%2e/secret", "/wall/..%2fsecret", "/wall/..;/secret", "/wall/.%2e/secret"]
OUT_OF_OURS += [
    "/wall/..\\secret",
    "/wall/..%5csecret",
    "/wall/static/../../secret",
    "/wall//../secret",
    "/wall;/../secret",
]
OUT_OF_OURS += ["/wall/%2e%2e%2fsecret", "/wall/%252e%252e/secret", "/./wall/../secret", "//wall/../secret"]


@pytest.mark.parametrize("target", OUT_OF_OURS)
def test_cve_2026_33494_cve_2020_24660_cve_2026_40912_ghsa_3q34_traversal_out_of_a_free_path(front, target):
    status, arrived = reached(front, target)

    assert (status in SHUT | {301, 307, 308}, arrived) == (True, False)


LIKE_OURS = ["/wallpaper", "/wall.php", "/x/wall/", "/login", "/x.login", "/robots.txt", "/favicon.ico", "/wall2/"]
LIKE_OURS += ["/.well-known/x", "/_gatewall", "/Wall2", "/index.php/wall/"]


@pytest.mark.parametrize("target", LIKE_OURS)
def test_cve_2026_23813_oauth2_proxy_3083_path_like_a_free_one(front, target):
    assert reached(front, target) == (401, False)


@pytest.mark.parametrize("host", ["PUBLIC.EXAMPLE", "public.example:443", "public.example."])
def test_cve_2026_48794_cve_2026_27588_ghsa_72h4_spelling_of_a_known_host(front, host):
    assert reached(front, "/", Host=host) == (200, True)


HOSTS = ["evil-public.example", "public.example.evil.test", "public.examplex", "UNKNOWN.example", "unknown.example:80"]
HOSTS += [
    "public.example@unknown.example",
    "unknown.example/public.example",
    "public.example,unknown.example",
    "publicXexample",
]
HOSTS += ["public.example:80:81", "public.example\\.evil.test", "", "public%2eexample", "x y"]


@pytest.mark.parametrize("host", HOSTS)
def test_cve_2026_48794_vouch_host_that_looks_like_a_known_one(front, host):
    status, arrived = reached(front, "/", Host=host)

    assert (status in {0, 400, 401, 403, 404, 421}, arrived) == (True, False)


def test_host_in_the_request_line_is_judged_if_it_is_served(stub):
    lines = [b"Host: public.example"]
    answer = raw(stub.port, f"GET http://127.0.0.1:{stub.port}/a HTTP/1.1".encode(), lines)

    if answer.status == 200:
        assert stub.told() == stub.served()
    else:
        assert answer.status == 400


@pytest.mark.parametrize(
    "lines", [(b"Host: public.example", b"Host: unknown.example"), (b"Host : public.example",), ()]
)
def test_two_invalid_or_missing_hosts(front, lines):
    before = len(front.site.requests)

    answer = raw(front.port, b"GET / HTTP/1.1", lines)

    assert (answer.status in {0, 400, 401, 403}, len(front.site.requests)) == (True, before)


@pytest.mark.parametrize("target", ["public.example:443", "/", "http://public.example/"])
def test_cve_2026_73547_connect(front, target):
    status, arrived = reached(front, target, "CONNECT", Host=PUBLIC)

    assert (status // 100 != 2, arrived) == (True, False)


@pytest.mark.parametrize("method", ["TRACE", "get", "G\u00c9T", "GET\x00", "PROPFIND", "M-SEARCH", "X" * 64])
def test_uncommon_method(front, method):
    status, arrived = reached(front, "/", method)

    assert (status in SHUT, arrived) == (True, False)


@pytest.mark.parametrize(
    "target", ["/a\\..\\b", "\\", "/\\evil.test", "/%5c%5cevil.test", "//evil.test", "/\t/evil.test"]
)
def test_cve_2026_52844_cve_2022_28923_cve_2020_5233_redirect_stays_on_our_site(front, target):
    before = len(front.site.requests)
    answer = raw(front.port, f"GET {target} HTTP/1.1".encode(), lines_of(front.port, BROWSER))

    assert len(front.site.requests) == before
    if location := answer.header("Location"):
        assert location.startswith((f"http://127.0.0.1:{front.port}/", "/")), location
        assert not location.startswith(("//", "/\\"))


SMUGGLED = b"0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
LENGTHS = {
    "both": [b"Content-Length: 4", b"Transfer-Encoding: chunked"],
    "odd coding": [b"Transfer-Encoding: xchunked", b"Content-Length: 4"],
    "two lengths": [b"Content-Length: 4", b"Content-Length: 5"],
    "chunked twice": [b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"],
    "a sign": [b"Content-Length: +4"],
    "a space": [b"Transfer-Encoding : chunked"],
}


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
def test_second_request_hidden_in_a_body(stub, lengths):
    before = len(stub.site.requests)

    raw(stub.port, b"POST / HTTP/1.1", [f"Host: 127.0.0.1:{stub.port}".encode(), *lengths], SMUGGLED)

    served = [line for line, _ in stub.site.requests[before:]]
    asked = [headers["X-Forwarded-Uri"] or line for line, headers in stub.gate.requests]
    assert not any("/smuggled" in line for line in served) or any("/smuggled" in uri for uri in asked)


def test_pipelined_requests_are_judged_one_by_one(front, cookie):
    lines = b"\r\n".join(lines_of(front.port, {"Cookie": cookie}))
    anonymous = b"\r\n".join(lines_of(front.port, {}))
    before = len(front.site.requests)
    with socket.create_connection(("127.0.0.1", front.port), timeout=PATIENCE) as connection:
        connection.sendall(b"GET /1 HTTP/1.1\r\n" + lines + b"\r\n\r\nGET /2 HTTP/1.1\r\n" + anonymous)
        connection.sendall(b"\r\nConnection: close\r\n\r\n")
        received = b"".join(iter(lambda: connection.recv(65_536), b""))

    assert received.count(SITE) == 1
    assert [line.split()[1] for line, _ in front.site.requests[before:]] == ["/1"]


ELSEWHERE = [
    "https://evil.test/",
    "//evil.test",
    "/\\evil.test",
    "http://public.example@evil.test/",
    "javascript:alert(1)",
]
ELSEWHERE += ["http://public.example.evil.test/", "http:evil.test", "/\t/evil.test", "http://127.0.0.1\\@evil.test/"]


@pytest.mark.parametrize("back", ELSEWHERE)
def test_cve_2021_29456_cve_2026_41569_cve_2026_28512_ghsa_5m6c_hostile_return_url(front, back):
    form = urlencode({"username": "admin", "password": PASSWORD, "rd": back})

    answer = request(front.port, f"/wall/?{urlencode({'rd': back})}", method="POST", body=form)

    assert answer.status in {303, 400}
    assert not {"evil", "javascript"} & set(re.findall("[a-z]+", answer.header("Location")))
