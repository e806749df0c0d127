"""What broke gateways like this one, as a visitor would try it through every proxy; named after the advisories."""

import http.client
import socket
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest

from tests.processes import BROWSER, PATIENCE, request, sign_in, wait_until
from tests.proxies.every.asking import SITE, lines_of, raw

PUBLIC, UNKNOWN = "public.example", "unknown.example"
FORWARDING = (
    *("X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Method", "X-Forwarded-Uri"),
    *("X-Forwarded-Prefix", "X-Forwarded-Ssl", "X-Original-URL", "X-Original-URI", "X-Original-Method"),
    *("X-Rewrite-URL", "X-Real-IP", "X-Client-IP", "Forwarded", "X-Gatewall-Reason"),
)
IDENTITY = ("Remote-User", "Remote-Email", "Remote-Groups", "X-Gatewall-Subject-Kind", "X-Gatewall-Decision-Id")
FORGED = "forged.example"
SHUT = {0, 302, 303, 400, 401, 403, 404, 405, 414, 431, 501, 505}


def reached(front, target, method="GET", **headers):
    """Send a request line as it is; the status, and whether the site got it."""
    before = len(front.site.requests)
    answer = raw(front.port, f"{method} {target} HTTP/1.1".encode("latin-1"), lines_of(front.port, headers))
    return answer.status, len(front.site.requests) > before


@pytest.mark.parametrize("name", FORWARDING)
def test_ghsa_5wcc_cve_2026_40575_cve_2026_76835_cve_2023_36456_forwarding_header_of_a_visitor(stub, name):
    request(stub.port, "/", {name: FORGED})

    for headers in (stub.gate.last, stub.site.last):
        assert FORGED not in str(headers)


@pytest.mark.parametrize("name", ["X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Uri", "X-Real-IP", *IDENTITY])
def test_cve_2021_32777_header_sent_twice(stub, name):
    request(stub.port, "/", [(name, FORGED), (name, f"{FORGED}, 127.0.0.1"), (name, "")])

    for headers in (stub.gate.last, stub.site.last):
        assert FORGED not in str(headers)


@pytest.mark.parametrize("name", ["X-Forwarded-Uri", "X-Forwarded-For", "X-Forwarded-Host", *IDENTITY])
@pytest.mark.parametrize("letter", ["_", "."])
def test_cve_2025_64484_cve_2026_39858_cve_2026_52845_cve_2015_0219_alias_of_a_header(stub, name, letter):
    mixed = name.replace("-", letter, 1)
    request(stub.port, "/", {name.replace("-", letter): FORGED, mixed.lower(): FORGED, mixed.upper(): FORGED})

    for headers in (stub.gate.last, stub.site.last):
        assert FORGED not in str(headers)


@pytest.mark.parametrize("name", IDENTITY)
def test_cve_2026_30851_identity_header_of_a_visitor_nobody_knows(front, name):
    answer = request(front.port, "/", {"Host": PUBLIC, name: "root"})

    assert (answer.status, "root" in front.site.last.values()) == (200, False)
    assert front.site.last["X-Gatewall-Subject-Kind"] == "public"


@pytest.mark.parametrize("agent", ["GoogleHC/1.0", "kube-probe/1.31", "ELB-HealthChecker/2.0"])
def test_cve_2026_34457_user_agent_of_a_probe(front, agent):
    assert request(front.port, "/", {"User-Agent": agent}).status == 401


CHAINS = ["a", "", "1.2.3.4:80", "[::1]", "127.0.0.1", ",".join(["127.0.0.1"] * 300), "1.2.3.4,,", "\u00e9"]


@pytest.mark.parametrize("chain", CHAINS, ids=range(len(CHAINS)))
def test_cve_2024_47070_chain_that_nobody_can_read(front, chain):
    assert reached(front, "/", **{"X-Forwarded-For": chain}) == (401, False)


@pytest.mark.parametrize("proto", ["https", "javascript", "https://evil.test/?"])
def test_cve_2026_33495_cve_2024_21499_scheme_of_a_visitor(front, proto):
    answer = request(front.port, "/", {**BROWSER, "X-Forwarded-Proto": proto})

    assert (answer.status, urlsplit(answer.header("Location")).scheme) == (302, "http")
    assert "evil" not in answer.header("Location")


def test_cve_2026_35051_prefix_of_a_visitor(front):
    answer = request(front.port, "/", {**BROWSER, "X-Forwarded-Prefix": "/evil"})

    assert "evil" not in answer.header("Location")


LISTED = ("X-Forwarded-Host", "X-Forwarded-Uri", "X-Forwarded-For", "X-Forwarded-Method", "Remote-User", "Cookie")


@pytest.mark.parametrize("name", [*LISTED, ", ".join(LISTED)])
def test_cve_2024_45410_cve_2021_32813_cve_2025_48865_header_named_in_connection(front, cookie, name):
    known, _ = reached(front, "/", Cookie=cookie, Connection=name)
    unknown = reached(front, "/", Host=UNKNOWN, Cookie=cookie, Connection=name)
    stranger = reached(front, "/", Connection=name)

    assert known in {200, 400, 401, 403}
    assert unknown in {(403, False), (401, False), (400, False)}
    assert stranger in {(401, False), (403, False), (400, False)}


@pytest.mark.parametrize("name", ["X-Forwarded-Host", "X-Forwarded-Uri", "X-Forwarded-For", "X-Forwarded-Method"])
def test_cve_2024_45410_gate_is_told_all_the_same(stub, name):
    before = len(stub.gate.requests)

    answer = request(stub.port, "/a?b", {"Connection": name})

    if answer.status == 400:  # Envoy serves nobody who names these
        assert len(stub.gate.requests) == before
    else:
        assert stub.told() == ("GET", f"127.0.0.1:{stub.port}", "/a?b")
        assert stub.gate.last["X-Forwarded-For"] == "127.0.0.1"


def test_cve_2024_21498_host_of_a_visitor_in_the_redirect(front):
    answer = request(front.port, "/", {**BROWSER, "X-Forwarded-Host": "evil.test"})

    assert (answer.status, "evil" in answer.header("Location")) == (302, False)


def test_cve_2026_63439_own_admin_believes_no_identity_header(front):
    answer = request(front.port, "/wall/users", {"Remote-User": "admin", "X-Gatewall-Subject-Kind": "user"})

    assert answer.status == 401


MALFORMED = ["/%", "/%zz", "/%00", "/a b", "/a\x01b", "/\x7f", "/" + "a" * 65_536, "a", "", "http://", "//", "/%ff%fe"]


@pytest.mark.parametrize("target", MALFORMED, ids=range(len(MALFORMED)))
def test_cve_2021_32637_cve_2023_33189_target_that_nobody_can_read(front, target):
    status, arrived = reached(front, target)

    assert (status in SHUT, arrived) == (True, False)


COOKIES = ["service.token", "service.token=", "=", ";;;", "service.token=a.b.c", "service.token=" + "e" * 4_000]
COOKIES += ['service.token="', "service.token=\u00ff", "service.token=x; " * 100, "a=" + "b" * 7_000]


@pytest.mark.parametrize("value", COOKIES, ids=range(len(COOKIES)))
def test_cve_2026_25748_cookie_that_nobody_can_read(front, value):
    assert reached(front, "/", Cookie=value) == (401, False)


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
def test_cve_2026_33494_cve_2020_24660_cve_2026_40912_ghsa_3q34_way_out_of_a_free_path(front, target):
    status, arrived = reached(front, target)

    assert (status in SHUT | {301, 307, 308}, arrived) == (True, False)


LIKE_OURS = ["/wallpaper", "/wall.php", "/x/wall/", "/login", "/x.login", "/robots.txt", "/favicon.ico", "/wall2/"]
LIKE_OURS += ["/.well-known/x", "/_gatewall", "/Wall2", "/index.php/wall/"]


@pytest.mark.parametrize("target", LIKE_OURS)
def test_cve_2026_23813_oauth2_proxy_3083_path_that_looks_free(front, target):
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
def test_two_hosts_odd_ones_and_none(front, lines):
    before = len(front.site.requests)

    answer = raw(front.port, b"GET / HTTP/1.1", lines)

    assert (answer.status in {0, 400, 401, 403}, len(front.site.requests)) == (True, before)


@pytest.mark.parametrize("target", ["public.example:443", "/", "http://public.example/"])
def test_cve_2026_73547_connect(front, target):
    status, arrived = reached(front, target, "CONNECT", Host=PUBLIC)

    assert (status // 100 != 2, arrived) == (True, False)


@pytest.mark.parametrize("method", ["TRACE", "get", "G\u00c9T", "GET\x00", "PROPFIND", "M-SEARCH", "X" * 64])
def test_method_that_few_use(front, method):
    status, arrived = reached(front, "/", method)

    assert (status in SHUT, arrived) == (True, False)


@pytest.mark.parametrize(
    "target", ["/a\\..\\b", "\\", "/\\evil.test", "/%5c%5cevil.test", "//evil.test", "/\t/evil.test"]
)
def test_cve_2026_52844_cve_2022_28923_cve_2020_5233_way_back_leads_to_our_site(front, target):
    before = len(front.site.requests)
    answer = raw(front.port, f"GET {target} HTTP/1.1".encode(), lines_of(front.port, BROWSER))

    assert len(front.site.requests) == before
    if location := answer.header("Location"):
        assert location.startswith((f"http://127.0.0.1:{front.port}/", "/")), location
        assert not location.startswith(("//", "/\\"))


def test_upgrade_to_h2c_is_no_way_past_the_gate(stub):
    h2c = {"Upgrade": "h2c", "HTTP2-Settings": "AAMAAABkAARAAAAAAAIAAAAA", "Connection": "Upgrade, HTTP2-Settings"}
    before = len(stub.site.requests)

    request(stub.port, "/", h2c)

    assert [headers["Upgrade"] for _, headers in stub.site.requests[before:] if headers["Upgrade"]] == []


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


def test_every_request_of_a_connection_is_judged(front, cookie):
    connection = http.client.HTTPConnection("127.0.0.1", front.port, timeout=PATIENCE)
    statuses = []
    for headers in ({"Cookie": cookie}, {}, {"Cookie": cookie}, {"Host": UNKNOWN, "Cookie": cookie}, {}):
        connection.request("GET", "/", headers=headers)
        answer = connection.getresponse()
        answer.read()
        statuses.append(answer.status)
    connection.close()

    assert statuses == [200, 401, 200, 403, 401]


def test_cve_2021_35472_cve_2026_33544_visitors_at_once_are_never_each_other(front, cookie, git_token):
    token = {"Service-Git-Token": f"admin:{git_token}"}
    kinds = {"user": {"Cookie": cookie}, "git-token": token, "public": {"Host": PUBLIC}, "": {}}

    def visit(number):
        kind = list(kinds)[number % len(kinds)]
        answer = request(front.port, f"/?{kind}&{front.kind}&{number}", kinds[kind])
        return answer.status == (200 if kind else 401)

    before = len(front.site.requests)
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(visit, range(48)))

    arrived = front.site.requests[before:]
    assert len(arrived) == 36
    for line, headers in arrived:
        assert line.split("?")[1].split("&")[0] == headers["X-Gatewall-Subject-Kind"]


def test_cve_2025_29928_session_that_was_ended(front):
    session = sign_in(front.port)
    assert request(front.port, "/", {"Cookie": session}).status == 200

    ended = request(front.port, "/wall/logout", {"Cookie": session}, method="POST")

    assert ended.status in {204, 303}
    wait_until(lambda: request(front.port, "/", {"Cookie": session}).status == 401, seconds=10, what="its end")


def test_cve_2021_29651_no_token_in_an_address(front):
    answer = request(front.port, "/", BROWSER)

    assert "service.token" not in answer.header("Location")
    assert answer.header("Cache-Control") == "no-store"


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
