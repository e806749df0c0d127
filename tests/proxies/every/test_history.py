"""Known vulnerabilities of similar gateways in headers, cookies and connections; named after the advisories."""

import http.client
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import unquote, urlsplit

import pytest

from tests.proxies.every.asking import PUBLIC, UNKNOWN, raw, reached
from tests.support.processes import BROWSER, PATIENCE, request, sign_in, wait_until

FORWARDING = (
    *("X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Method", "X-Forwarded-Uri"),
    *("X-Forwarded-Prefix", "X-Forwarded-Ssl", "X-Original-URL", "X-Original-URI", "X-Original-Method"),
    *("X-Rewrite-URL", "X-Real-IP", "X-Client-IP", "Forwarded", "X-Gatewall-Reason"),
)
IDENTITY = ("Remote-User", "Remote-Email", "Remote-Groups", "X-Gatewall-Subject-Kind", "X-Gatewall-Decision-Id")
FORGED = "forged.example"


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


def test_alias_with_any_other_character_in_the_name(stub):
    names = [name.replace("-", letter) for name in IDENTITY for letter in "!#$%&'*+^`|~"]

    request(stub.port, "/", dict.fromkeys(names, FORGED))

    assert FORGED not in str(stub.site.last)


@pytest.mark.parametrize("name", IDENTITY)
def test_cve_2026_30851_identity_header_of_an_anonymous_visitor(front, name):
    answer = request(front.port, "/", {"Host": PUBLIC, name: "root"})

    assert (answer.status, "root" in front.site.last.values()) == (200, False)
    assert front.site.last["X-Gatewall-Subject-Kind"] == "public"


@pytest.mark.parametrize("agent", ["GoogleHC/1.0", "kube-probe/1.31", "ELB-HealthChecker/2.0"])
def test_cve_2026_34457_user_agent_of_a_probe(front, agent):
    assert request(front.port, "/", {"User-Agent": agent}).status == 401


CHAINS = ["a", "", "1.2.3.4:80", "[::1]", "127.0.0.1", ",".join(["127.0.0.1"] * 300), "1.2.3.4,,", "\u00e9"]


@pytest.mark.parametrize("chain", CHAINS, ids=range(len(CHAINS)))
def test_cve_2024_47070_unparsable_chain_of_addresses(front, chain):
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
def test_cve_2024_45410_gate_gets_its_headers_anyway(stub, name):
    before = len(stub.gate.requests)

    answer = request(stub.port, "/a?b", {"Connection": name})

    if answer.status == 400:  # Envoy refuses requests that name these
        assert len(stub.gate.requests) == before
    else:
        assert stub.told() == ("GET", f"127.0.0.1:{stub.port}", "/a?b")
        assert stub.names_the_visitor(stub.gate.last["X-Forwarded-For"])


@pytest.mark.parametrize("name", ["Remote-User", "X-Gatewall-Subject-Kind", "Remote-User, Remote-Email, Remote-Groups"])
def test_cve_2024_45410_visitor_cannot_remove_identity_headers(stub, name):
    before = len(stub.site.requests)

    request(stub.port, "/", {"Connection": name, "Remote-User": "mallory", "X-Gatewall-Subject-Kind": "mallory"})

    ((_, headers),) = stub.site.requests[before:]
    assert {each: headers[each] for each in stub.gate.headers if each.startswith(("Remote-", "X-Gatewall-S"))} == {
        each: value for each, value in stub.gate.headers.items() if each.startswith(("Remote-", "X-Gatewall-S"))
    }


def test_identity_header_in_a_trailer_is_no_header_of_the_request(stub):
    before = len(stub.site.requests)
    lines = [f"Host: 127.0.0.1:{stub.port}".encode(), b"Transfer-Encoding: chunked", b"Trailer: Remote-User"]

    raw(stub.port, b"POST / HTTP/1.1", lines, b"1\r\na\r\n0\r\nRemote-User: mallory\r\n\r\n")

    ((_, headers),) = stub.site.requests[before:]
    assert "mallory" not in str(headers)
    assert all("mallory" not in str(told) for _, told in stub.gate.requests)


def test_cve_2024_21498_host_of_a_visitor_in_the_redirect(front):
    answer = request(front.port, "/", {**BROWSER, "X-Forwarded-Host": "evil.test"})

    assert (answer.status, "evil" in answer.header("Location")) == (302, False)


def test_cve_2026_63439_own_admin_ignores_identity_headers(front):
    answer = request(front.port, "/wall/users", {"Remote-User": "admin", "X-Gatewall-Subject-Kind": "user"})

    assert answer.status == 401


COOKIES = ["service.token", "service.token=", "=", ";;;", "service.token=a.b.c", "service.token=" + "e" * 4_000]
COOKIES += ['service.token="', "service.token=\u00ff", "service.token=x; " * 100, "a=" + "b" * 7_000]


@pytest.mark.parametrize("value", COOKIES, ids=range(len(COOKIES)))
def test_cve_2026_25748_unparsable_cookie(front, value):
    assert reached(front, "/", Cookie=value) == (401, False)


SPOKEN = "{env.HOME}{http.request.host}%[src]$host%REQ(:authority)%{{env}}"
"""Placeholders that one of the proxies would replace if it read a value as its own configuration."""


def test_proxy_does_not_interpret_placeholders_from_the_visitor_or_the_gate(stub):
    stub.gate.headers = stub.gate.headers | {"Remote-Email": SPOKEN, "Cookie": f"a={SPOKEN}"}

    request(stub.port, "/?q=" + SPOKEN, {"Cookie": f"a={SPOKEN}", "User-Agent": SPOKEN, "X-Name": SPOKEN})

    for told in (stub.told(), stub.served()):
        assert unquote(told.uri) == "/?q=" + SPOKEN
    assert stub.gate.last["User-Agent"] == stub.site.last["X-Name"] == SPOKEN
    assert (stub.site.last["Cookie"], stub.site.last["Remote-Email"]) == (f"a={SPOKEN}", SPOKEN)


def test_upgrade_to_h2c_does_not_bypass_the_gate(stub):
    h2c = {"Upgrade": "h2c", "HTTP2-Settings": "AAMAAABkAARAAAAAAAIAAAAA", "Connection": "Upgrade, HTTP2-Settings"}
    before = len(stub.site.requests)

    request(stub.port, "/", h2c)

    assert [headers["Upgrade"] for _, headers in stub.site.requests[before:] if headers["Upgrade"]] == []


UPGRADES = [("h2c",), ("h2c", "websocket"), ("websocket", "h2c"), ("h2c, websocket",), ("spdy/3.1",), ("websockets",)]


@pytest.mark.parametrize("sent", UPGRADES, ids=" and ".join)
def test_upgrade_other_than_websocket_does_not_arrive(stub, monkeypatch, sent):
    monkeypatch.setattr(stub.site, "status", 204)
    before = len(stub.site.requests)
    lines = [b"Host: office.example", b"Connection: Upgrade", b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]

    raw(stub.port, b"GET / HTTP/1.1", [*lines, *(b"Upgrade: " + name.encode() for name in sent)])

    arrived = [headers.get_all("Upgrade") for _, headers in stub.site.requests[before:]]
    assert [names for names in arrived if names not in (None, ["websocket"])] == []


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


def test_cve_2021_35472_cve_2026_33544_concurrent_visitors_are_not_confused(front, cookie, git_token):
    token = {"Service-Git-Token": f"admin:{git_token}"}
    kinds = {"user": {"Cookie": cookie}, "git-token": token, "public": {"Host": PUBLIC}, "": {}}

    def visit(number):
        kind = list(kinds)[number % len(kinds)]
        answer = request(front.port, f"/?{kind}&{number}", kinds[kind])
        return answer.status == (200 if kind else 401)

    before = len(front.site.requests)
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(visit, range(48)))

    arrived = front.site.requests[before:]
    assert len(arrived) == 36
    for line, headers in arrived:
        assert line.split("?")[1].split("&")[0] == headers["X-Gatewall-Subject-Kind"]


def test_cve_2025_29928_ended_session(front):
    session = sign_in(front.port)
    assert request(front.port, "/", {"Cookie": session}).status == 200

    ended = request(front.port, "/wall/logout", {"Cookie": session}, method="POST")

    assert ended.status in {204, 303}
    wait_until(lambda: request(front.port, "/", {"Cookie": session}).status == 401, seconds=10, what="its end")


def test_cve_2021_29651_no_token_in_an_address(front):
    answer = request(front.port, "/", BROWSER)

    assert "service.token" not in answer.header("Location")
    assert answer.header("Cache-Control") == "no-store"
