"""The doctor's findings about WebSockets, and about answers of the site that bypass the proxy."""

import socket

import pytest

from gatewall.doctor.probing import around, probes
from gatewall.doctor.probing.around import Place, UpstreamRefused, places
from gatewall.doctor.probing.evidence import Reply, Seen
from gatewall.doctor.probing.findings import Verdict
from gatewall.doctor.probing.judging import judge
from gatewall.doctor.probing.target import Target
from tests.unit.examined import HERE, NUMBER, SITE, evidence, unrecorded

PUBLIC, INSIDE = "1.1.1.1", "10.0.0.5"
FOUND = {
    "closed": (Reply(failure="Connection refused"), Verdict.OK, "around-closed"),
    "guarded as well": (
        Reply(401, {"x-gatewall-decision-id": NUMBER}, HERE, INSIDE),
        Verdict.OK,
        "around-asked",
    ),
    "no HTTP": (Reply(None, {}, HERE, INSIDE, "no answer in time"), Verdict.UNKNOWN, "around-no-answer"),
    "site refuses": (Reply(403, {}, HERE, PUBLIC), Verdict.OK, "around-refused"),
    "loopback": (Reply(404, {}, "127.0.0.1", "127.0.0.1"), Verdict.OK, "around-this-machine"),
    "own address": (Reply(200, {}, INSIDE, INSIDE), Verdict.UNKNOWN, "around-own-address"),
    "private address": (Reply(200, {}, HERE, INSIDE), Verdict.UNKNOWN, "around-inside"),
    "public address": (Reply(404, {}, HERE, PUBLIC), Verdict.WRONG, "around-open"),
    "public address, IPv6": (Reply(302, {}, "2001:db8::1", "2606:4700::1111"), Verdict.WRONG, "around-open"),
}


def result_of(found, check):
    """Return the verdict and code of each finding of a check."""
    (result,) = [each for each in judge(found) if each.check == check]
    return [(finding.verdict, finding.code) for finding in result.findings]


@pytest.mark.parametrize("name", FOUND)
def test_an_answer_around_the_proxy_is_judged_by_where_it_came_from(name):
    reply, *expected = FOUND[name]
    (probe,) = probes.around(SITE, ["192.0.2.9:8000"], lambda: "0" * 34)
    found = evidence()
    seen = {**found.seen, probe.name: Seen(probe, reply)}

    assert result_of(evidence_of(found, seen), "around") == [tuple(expected)]


def evidence_of(found, seen):
    """Return the evidence with other probes."""
    return type(found)(found.target, seen, found.root_path, found.kind)


def test_without_an_address_of_the_site_the_check_does_not_apply():
    assert result_of(evidence(), "around") == [(Verdict.NOT_APPLICABLE, "around-not-named")]


@pytest.mark.parametrize(
    ("kind", "code"),
    [("envoy", "connections-can-be-ended"), ("nginx", "connections-cannot-be-ended")],
)
def test_the_doctor_reports_whether_a_proxy_can_end_open_connections(kind, code):
    asked, limit = result_of(evidence(kind), "connections")

    assert (asked, limit) == ((Verdict.OK, "socket-asked"), (Verdict.NOT_APPLICABLE, code))


def test_handshake_that_walks_around_the_gate_is_wrong():
    found = evidence(changes={probes.WEBSOCKET: unrecorded(101)})

    assert result_of(found, "connections") == [(Verdict.WRONG, "walked-around-by")]


@pytest.fixture
def names(monkeypatch):
    """Make these names resolve to these addresses, and give the machine an address of its own."""
    hosts = {
        "site": [INSIDE],
        "localhost": ["127.0.0.1", "::1"],
        "office.example": [PUBLIC],
        "127.0.0.1": ["127.0.0.1"],
    }

    def found(host, _port, **_):
        if host not in hosts:
            raise socket.gaierror
        return list(hosts[host])

    monkeypatch.setattr(around, "addresses_of", found)
    monkeypatch.setattr(around, "_own_addresses", lambda: iter([INSIDE]))


@pytest.mark.parametrize(
    ("upstream", "expected"),
    [
        ("site:8000", ["10.0.0.5:8000"]),
        ("localhost:8000", ["127.0.0.1:8000", "[::1]:8000", "10.0.0.5:8000", "1.1.1.1:8000"]),
        ("127.0.0.1:80", ["127.0.0.1:80", "10.0.0.5:80"]),
    ],
)
def test_site_on_loopback_is_tried_at_all_addresses_of_its_machine(names, upstream, expected):
    assert list(map(str, places(upstream, SITE))) == expected


@pytest.mark.parametrize(
    "upstream", ["", "site", "site:0", "http://site:80", "nowhere:80", "site:80/x", f"{'a' * 300}:1"]
)
def test_address_that_cannot_be_used_is_refused(names, upstream):
    with pytest.raises(UpstreamRefused):
        places(upstream, SITE)


def test_site_with_an_unresolvable_name_is_tried_at_the_other_addresses(names):
    found = places("127.0.0.1:8000", Target.parse("http://unknown.example/"))

    assert found == [Place("127.0.0.1", 8000), Place(INSIDE, 8000)]


@pytest.mark.parametrize(
    ("url", "host"), [("https://a.example/", "a.example"), ("https://a.example:8443/", "a.example:8443")]
)
def test_site_is_asked_over_http_with_the_host_of_the_proxy(url, host):
    assert Target.parse(url).unencrypted.authority == host
